// Package reads converts frames of clients to events of chat.reads.
//
//	event.go   the event of a frame, or the reason to refuse it
//	settings.go frames for a user's settings of a channel (DESIGN §4.7)
package reads
