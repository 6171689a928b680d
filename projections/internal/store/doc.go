// Package store is the Pebble database of one partition: it knows bytes and keys, and no channels.
//
//	options.go   how Pebble is opened, and what a directory is before that
//	fuse.go      what stands between a store and its disk: the first write that fails is the last
//	fuse_opening.go   files that stay until a store is open
//	fuse_file.go      the files that are written
//	room.go      a full disk is waited for
//	disk.go      what a store is on its disk
//	whole.go     a database is open as a whole, or closed
//	excerpt.go   some channels of a store as a store of their own
//	chain.go     cuts are chained, so that a lost one is noticed
//	corrupt.go   what an error says about a store
//	stopped.go   a store that no process uses
package store
