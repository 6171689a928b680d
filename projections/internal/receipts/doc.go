// Package receipts has the stored form of members' reads and deliveries: entries, collected in
// blocks. A block has the entries of some messages and one page of members, of the channel or of
// one thread.
//
//	block.go   an entry, its place in the order of the store, and the bytes of a block
//	group.go   entries by channel
//	sort.go    sorting many entries into that order
//	out.go     receipts to publish, and dropping redundant ones
package receipts
