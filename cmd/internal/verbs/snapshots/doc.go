// Package snapshots is `tidemark snapshot`: it takes, lists, checks, restores and prunes snapshots.
//
//	snapshots.go    the verbs, and a snapshot as JSON
//	create.go       takes snapshots of the stores of a stopped node
//	create_node.go  makes a running node take them
//	create_print.go prints new ones, for people and as JSON
//	list.go         lists them
//	verify.go       downloads and checks them
//	restore.go      restores them into a data directory
//	prune.go        removes old ones
//	progress.go     the progress of an upload or a download
package snapshots
