// Package erase erases a user (DESIGN §12, erase-user). It finds the channels that hold anything
// about the user. It writes a user_erased to each, and a members_left to those that the user is a
// member of. It waits until both are folded, removes the user's keys from Redis, and lists the
// remaining places with their end.
//
// The events do the erasing: they are folded like any others, so a replay, a rebuild, a standby and
// another node's cache get the same result. This package writes to no store.
//
//	erase.go    Run, step by step
//	find.go     the channels that hold anything about the user
//	write.go    the events that erase
//	redis.go    the rest in Redis
//	remains.go  the remaining places, and until when
//	scan.go     a later search for traces
//	certificate.go  both, signed
package erase
