// Package presence records which users have a socket at some gateway, and reports messages as
// queued for users without one (DESIGN §8, §10).
//
//	beat.go       detecting that Redis has lost data of gateways
//	presence.go   the keys ws:<user>: set, deleted and looked up
//	roster.go     the members of channels, updated by the timeline
//	queued.go     the sessions in which messages are judged, and commits
//	queued_panic.go   skipping a message at which judging panics
//	judging.go    deciding which messages are queued for which users
package presence
