// Package loading turns stored records into state: all records of a store when it is opened, or
// those of one channel that comes back into memory. It checks that a channel's records are
// complete.
//
//	loader.go    all records, or one channel
//	skim.go      leaving channels in the store that do not fit into memory
//	ending.go    where the log of a channel ends
//	lister.go    noting those as cold while events are folded
//	record.go    a record of a channel
//	channel.go   the record of a channel and the pages of its members
//	thread.go    the records of threads
//	list.go      the records of a channel, read before
//	read.go      reading those of several channels
//	size.go      the memory that leaves with channels, and what stays
//	warm.go      touches the memory that loading and leaving need
package loading
