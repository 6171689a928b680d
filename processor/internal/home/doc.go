// Package home keeps the store of a partition on this node's disk: where it comes from when the
// partition is opened, what lies beside it, and when it goes.
//
// Its files, in the order in which to read them:
//
//	home.go       the home of one partition
//	openstore.go  a store is opened, and closed again
//	source.go     what a partition starts from: its store, a snapshot, or nothing
//	restore.go    a snapshot takes the place of a store, which stays until the snapshot is open
//	beside.go     the names of what lies beside a store, and what a crash leaves there
//	brake.go      a record at which the fold panics again and again parks its partition
//	diskspace.go  writes wait while the disk is full
//	unused.go     the store of a partition that moved to another node is removed after a while
package home
