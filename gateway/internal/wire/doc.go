// Package wire is the gateway's end of one device's socket: frames wait in a bounded queue and
// leave together, a few sockets at a time. It knows frames as texts with a key and a channel, and
// nothing of users, counts or Kafka.
//
// A frame's way through the files:
//
//	queue.go     what waits for a connection; a value replaces an older one, bytes are bounded
//	conn.go      a connection: Send queues, Kick asks for a turn to write, Shut closes
//	writers.go   which connection writes next
//	write.go     a connection writes what is queued
//	link.go      frames that leave together are written at once, and each write has a deadline
//	accept.go    the handshake, and the buffers that a connection keeps
//	read.go      the frames of the client
//	ping.go      every connection is asked for a sign of life, each at its own step of a round
//	unconnected.go   a connection without a socket, for tests
//
// Send, Kick and Shut never wait, so they may be called with any lock.
package wire
