// Package testkit gives tests a Kafka and a Redis: the real ones, started without containers, or
// the embedded ones that `tidemark dev` runs on.
//
//	func TestCounts(t *testing.T) {
//		testkit.Both(t, func(t *testing.T, env testkit.Env) {
//			topics := env.Topics(t, 4)
//			...
//		})
//	}
//
// A test that needs a server gets it or fails; only -short skips it. One real broker serves all
// tests of a binary, and under `make test` of the whole run, so topics and groups have unique names
// (UniqueName, Topics). A test that stops or pauses brokers starts its own with KafkaN. Every call
// of Redis starts a server, which takes 30 ms.
//
// Everything here takes a testing.TB. Package servers runs the processes, and package proxy has
// connections to them that a test can cut.
//
//	testkit.go    which tests need a server, unique names
//	both.go       a test on the embedded and on the real servers
//	fake.go       the embedded broker
//	kafka.go      real brokers
//	leader.go     finds and moves leaders
//	topics.go     a set of topics
//	redis.go      a real Redis
//	postgres.go   a real PostgreSQL, and statements run in one
//	synapse.go    a real Synapse, a Matrix server
//	secured.go    servers with TLS and rights
//	authority.go  certificates
//	program.go    programs beside Go
//	address.go    free addresses
//	output.go     what a program has written
//	await.go      waits for a condition
//	atmost.go     judges a duration by the best of several tries
//	leaks.go      goroutines that are left
//	series.go     metrics without a series
//	usage.go      the memory and descriptors of this process
//	race_on.go    the race detector is on
//	race_off.go   and off
package testkit
