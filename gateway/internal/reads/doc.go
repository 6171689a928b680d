// Package reads makes the events of chat.reads that the frames of clients become.
//
//	event.go   the event of a frame, and why one is refused
//	said.go    frames for what a user says of a channel beside what they read (DESIGN §4.7)
package reads
