// Package verbs has what the verbs of the command share: the App that each is run with, groups of
// flags, confirmations, progress, and the reading of a topic. A verb with verbs below it is a
// package of its own in this folder, a simple one is a file of cmd/tidemark.
//
//	app.go           App, and the errors that choose an exit code
//	flags.go         addresses of Kafka and Redis; topics, partitions and records
//	call_flags.go    how to call a node
//	node_flags.go    the node that answers queries, and its errors for people
//	context_flag.go  the node and the token of a context
//	context_file.go  the user's contexts
//	config_file.go   values of flags from a file
//	nearest.go       the name that was probably meant
//	fold_flags.go    the settings of the fold
//	sql_flags.go     the database of the role sql
//	sql_verify.go    compares its tables with the topics
//	past_flags.go    the process that answers about the past
//	bucket_flags.go  the place of snapshots, and which are kept
//	stores.go        the stores of a data directory
//	confirm.go       asks for confirmation before something is destroyed
//	progress.go      the progress of a long verb
//	readlog.go       reads the log of a topic from end to end
package verbs
