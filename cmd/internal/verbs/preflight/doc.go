// Package preflight finds out whether a node with a given configuration could work, without
// starting it: `tidemark config check`.
//
// It joins no group and folds nothing. It removes everything that it writes: a file in the data
// directory, an object beside the snapshots, and a key in Redis that would expire within seconds.
//
//	report.go     the lines of the result
//	preflight.go  all checks, one after the other
//	kafka.go      brokers and topics
//	rights.go     the rights that each role needs at the brokers
//	peers.go      the other nodes of the group
//	local.go      memory, data directory, listeners
//	redis.go      Redis
//	snapshots.go  the place of the snapshots
package preflight
