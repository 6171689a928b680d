// Package snapshots is `tidemark snapshot`: it takes, lists, checks, restores and prunes snapshots.
//
//	snapshots.go    the verbs, and a snapshot as JSON
//	create.go       takes snapshots of the stores of a stopped node
//	create_node.go  has a running node take them
//	create_print.go what was taken, for people and as JSON
//	list.go         lists them
//	verify.go       downloads and checks them
//	restore.go      brings them into a data directory
//	prune.go        removes old ones
//	progress.go     how far an upload or a download is
package snapshots
