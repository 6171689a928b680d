// Package home manages the store of a partition on this node's disk: its source when the partition
// is opened, the files beside it, and its removal.
//
// Its files, in the order in which to read them:
//
//	home.go       the home of one partition
//	openstore.go  opening and closing a store
//	source.go     the source of a partition's state: its store, a snapshot, or the log
//	restore.go    replacing a store by a snapshot; the store stays until the snapshot is open
//	beside.go     names of files beside a store, and leftovers of a crash
//	brake.go      parking a partition whose fold panics repeatedly at a record
//	diskspace.go  waiting while the disk is full
//	unused.go     removing the store of a partition that has moved away
package home
