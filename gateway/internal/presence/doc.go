// Package presence knows which users have a socket at some gateway, and reports messages as queued
// for those who have none (DESIGN §8, §10).
//
//	beat.go       whether Redis still has what gateways wrote to it
//	presence.go   the keys ws:<user>: set, deleted and looked up
//	roster.go     the members of channels, kept up with the timeline
//	queued.go     the sessions in which messages are judged, and what is committed of them
//	queued_panic.go   passes over a message at which judging panics
//	judging.go    which messages are queued for whom
package presence
