// Package history is how the messages of a channel are kept: as entries of its log, in blocks, and
// as records of the index of their ids.
//
//	entry.go          a message in the log, and its bytes
//	index_record.go   what the index says of an id, and a message in a block
package history
