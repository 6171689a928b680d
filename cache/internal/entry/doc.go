// Package entry has the values in Redis: encoding them for a user in a channel or thread and for a
// channel, and parsing them for a reader (DESIGN §8).
//
//	encode.go   the bytes of a value
//	entry.go    the view of a user, and parsing it from JSON
//	channel.go  the hash of a channel; hash.go writes it
//	derive.go   completing an entry from its channel's record
//	packed.go   parsing packed values
//	own.go      parsing Tidemark's own values without a JSON parser
package entry
