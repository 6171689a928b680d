// Package dev is Tidemark with everything that it needs, in one process: a broker that speaks Kafka's protocol, a
// Redis, all topics, and a node with all roles. It is what `tidemark dev` runs, and what tests start on free ports.
//
// The broker and the Redis are embedded ones (kfake, miniredis) on real sockets, so other programs can use them. They are
// for development: one broker, nothing replicated, Redis in memory only.
package dev
