// Package receipts is how it is kept what members read and what was delivered to them: as entries,
// which blocks collect. A block has the entries of some messages and one page of members, of the
// channel or of one thread.
//
//	block.go   an entry, its place in the order of the store, and the bytes of a block
//	sort.go    that order for many entries
package receipts
