// Package dev runs Tidemark with everything that it needs in one process: a broker that speaks
// Kafka's protocol, a Redis, all topics, and a node with all roles. `tidemark dev` runs it, and
// tests start it on free ports.
//
// The broker and the Redis are embedded ones (kfake, miniredis) on real sockets, so other programs
// can use them. They are for development: one broker, nothing replicated, Redis in memory only.
//
//	stack.go   Stack: everything, started and stopped
//	config.go  its configuration
//	broker.go  the embedded broker
//	listen.go  ports
//	page.go    the stack's part of the page
package dev
