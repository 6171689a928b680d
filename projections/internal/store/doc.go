// Package store is the Pebble database of one partition. It handles bytes and keys, and has no
// notion of channels.
//
//	options.go   opening Pebble, and checking a directory before that
//	write.go     writing batches, large ones as tables
//	changes.go   the changes of a batch in the order of their keys
//	fuse.go      between a store and its disk: no write follows a failed one
//	fuse_opening.go   keeping files while a store opens
//	fuse_file.go      files written through the fuse
//	full_disk.go waiting while the disk is full
//	disk.go      the disk space of a store
//	table.go     checking the blocks of one table
//	checkpoint.go a copy of an open store
//	compact.go   compacting the hot records before a copy that would share little
//	wal.go       trimming the log of a copied store
//	whole.go     a database is open completely, or closed
//	excerpt.go   some channels of a store as a store of their own
//	ascending.go reading many records by ascending keys
//	chain.go     the chain of cuts, which detects lost ones
//	corrupt.go   classifying errors of a store
//	stopped.go   a store that no process uses
package store
