// Package history has the stored forms of a channel's messages: entries of its log, in blocks, and
// records of the index of their ids.
//
//	entry.go          a message in the log, and its bytes
//	trimmed.go        a block whose messages no event can name
//	index_record.go   an entry of the index, and finding a message in a block
package history
