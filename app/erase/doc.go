// Package erase erases a user (DESIGN §12, erase-user). It finds the channels that know the user,
// writes a user_erased to each and a members_left where they are a member, waits until both are
// folded, removes the user's keys from Redis, and lists what remains where and until when.
//
// The events do the erasing: they are folded like any others, so a replay, a rebuild, a standby and
// another node's cache get the same result. This package writes to no store.
//
//	erase.go    Run, step by step
//	find.go     the channels that know of the user
//	write.go    the events that erase
//	redis.go    what is left in Redis
//	remains.go  what remains where until when
//	scan.go     a later search for what is left
//	certificate.go  both, signed
package erase
