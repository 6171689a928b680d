// Package packed has the bytes of --redis-values packed: a version byte and varints, short enough
// for Redis' listpack encoding. docs/redis.md describes every byte, and lua/inbox.lua of package
// library reads the same ones.
//
//	value.go    a user in a channel or thread
//	channel.go  a channel's record
//	ids.go      ids; UUIDs and ULIDs are shorter
//	bytes.go    varints, times, sets of positions
package packed
