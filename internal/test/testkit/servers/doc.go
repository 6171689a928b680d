// Package servers runs real servers without containers: Apache Kafka in KRaft mode from Maven's
// jars, redis-server, PostgreSQL and Synapse. Tests use it through package testkit;
// `make test` and `make bench` start one broker for a whole run with cmd/servers.
//
// It has processes, ports, data directories and their cleanup. It does not have testing.T, topics
// or fakes.
//
// The invariant: no server outlives the process that started it, even when that is killed with
// SIGKILL. guard keeps it. On Windows every start fails
// with an error that says so.
//
//	process.go         a process that is stopped, killed and started again
//	guard.go           kills servers whose owner has died
//	group_unix.go      process groups, signals and a lock between processes
//	group_windows.go   the error instead
//	ports.go           free ports
//	libs.go            jars from Maven
//	kafka.go           a cluster of brokers
//	kafkaconf.go       its configuration
//	redis.go           redis-server
//	postgres.go        PostgreSQL
//	synapse.go         Synapse, a Matrix server
//	python.go          what is installed for Python
//	certificate.go     a certificate for one server
//	axe.go             the accessibility checker of pages
//	examples.go        what the examples of the documents need in Python and Java
//	nodemodules.go     what the tests of the React hooks need, by npm
package servers
