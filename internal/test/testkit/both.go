package testkit

import "testing"

// Env is where an end-to-end test runs.
type Env struct {
	Brokers  []string // Kafka's addresses, as --brokers takes them
	RedisURL string   // as --redis takes it
	Real     bool     // Apache Kafka and redis-server; otherwise embedded servers
}

// Both runs the same test twice: "embedded" against the broker and the Redis that `tidemark dev`
// runs on, and "real" against Apache Kafka and redis-server. An embedded server can be wrong in the
// same way as the code; the real one shows it.
func Both(t *testing.T, body func(t *testing.T, env Env)) {
	t.Helper()
	t.Run("embedded", func(t *testing.T) {
		body(t, Env{
			Brokers:  FakeKafka(t).ListenAddrs(),
			RedisURL: "redis://" + Miniredis(t).Addr(),
		})
	})
	t.Run("real", func(t *testing.T) {
		body(t, Env{
			Brokers:  Kafka(t).Brokers,
			RedisURL: Redis(t).URL,
			Real:     true,
		})
	})
}
