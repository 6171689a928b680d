// Package servers runs real servers without containers: Apache Kafka in KRaft mode from Maven's jars, and
// redis-server. Tests use it through package testkit; `make test` and `make bench` start one broker for a whole run
// with cmd/servers.
//
// What lives here: processes, ports, data directories, and what cleans them up. What does not: testing.T, topics,
// fakes.
//
// The invariant: no server outlives the process that started it, even when that is killed with SIGKILL. It is kept by
// guard (guard.go). Unix only.
package servers
