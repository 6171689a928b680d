// Package testkit gives tests a Kafka and a Redis: the real ones, started without containers, or the embedded ones
// that `tidemark dev` runs on.
//
//	func TestCounts(t *testing.T) {
//		testkit.Both(t, func(t *testing.T, env testkit.Env) {
//			topics := env.Topics(t, 4)
//			...
//		})
//	}
//
// A test that needs a server gets it or fails; it is skipped under -short alone. One real broker serves all tests of a
// binary, and under `make test` of the whole run, so topics and groups have unique names (UniqueName, Topics). A test
// that stops or pauses brokers starts its own with KafkaN. A Redis is started for each test that asks: it takes 30 ms.
//
// What lives here: what takes a testing.TB. The processes themselves are package servers; lines to them that can be cut are
// package proxy.
package testkit
