// Package gateway is the WebSocket gateway of DESIGN §10: one socket a device, live counts, read pointers, messages and
// receipts. docs/gateway.md has every frame.
//
// A value's way through the files:
//
//	feed.go       reads the output topics and chat.messages from their ends; a gap makes everything be read afresh
//	hub.go        who is connected, and which channels somebody connected is a member of
//	user.go       what one connected user sees: the newest stamp of each channel stands
//	channel.go    messages wait for the channel's record that gives them their seq, then go to the members
//	snapshot.go   the inbox of a connection, read from the owners
//	install.go    what it makes of what the user sees, and what changed while it was read
//	queue.go      what a connection has still to send: absolute values replace each other, bytes are bounded
//	conn.go       a socket: reading commands, writing what is queued
//	writers.go    whose turn it is to write
//	command.go    what a client may ask for; it becomes events in chat.reads
//	presence.go   which users have a socket somewhere (Redis)
//	queued.go     what is reported for members who have none; roster.go: who the members are
//
// Who may connect at all is said in admission.go; handler.go is the life of a connection from there.
//
// All of hub, users and channels is guarded by the hub's one lock, which is never held while anything waits: sockets are
// written from queues by a few goroutines that exist only while there is something to write.
//
// What is not here: the fold's rules. The gateway repeats what was folded, and adds up.
package gateway
