// Package synapse has the SQL and the meaning of Synapse's tables that only a comparison reads.
//
//	counts.go  the numbers of notifications
//	heal.go    corrects one of them
//	rules.go   push rules that mute a room, and the ranges of messages that they muted
//	muted.go   the messages that came while a user had muted a room
package synapse
