// Package synapse has the content of Matrix events, and the SQL and the meaning of Synapse's tables
// that only a comparison reads.
//
//	content.go   the content of an event
//	counts.go    the numbers of notifications
//	heal.go      corrects one of them
//	rules.go     push rules that mute a room, and the ranges of messages that they muted
//	muted.go     the messages that came while a user had muted a room
//	versions.go  the versions of edited messages
package synapse
