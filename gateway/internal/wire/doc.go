// Package wire is the gateway's end of one device's socket. Frames wait in a bounded queue and are
// sent together, a few sockets at a time. To this package a frame is a text with a key and a
// channel; it has no notion of users, counts and Kafka.
//
// A frame's way through the files:
//
//	queue.go     waiting frames; a value replaces an older one, and bytes are limited
//	conn.go      a connection: Send queues, Kick asks for a turn to write, Shut closes
//	writers.go   the order in which connections write
//	write.go     writing queued frames
//	link.go      gathering frames into one write, with a deadline for each write
//	accept.go    the handshake, and the permanent buffers of a connection
//	read.go      reading frames of the client
//	ping.go      pinging every connection, each at its own step of a round
//	unconnected.go   a connection without a socket, for tests
//
// Send, Kick and Shut never wait, so they may be called with any lock.
package wire
