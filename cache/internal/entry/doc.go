// Package entry has the values of Redis: what the cache writes of a user in a channel or thread and
// of a channel, and what a reader makes of it (DESIGN §8).
//
//	encode.go   the bytes of a value
//	entry.go    what a user sees, and how it is read from JSON
//	channel.go  the hash of a channel; hash.go writes it
//	derive.go   what its channel's record tells of an entry
//	packed.go   the same from packed values
//	own.go      what Tidemark wrote, parsed without a JSON parser
package entry
