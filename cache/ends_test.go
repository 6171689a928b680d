package cache

import (
	"sync/atomic"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// lag returns the sum of tidemark_cache_lag_records over the partitions of m.
func (m *member) lag(t *testing.T) (records int) {
	t.Helper()
	families, err := m.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tidemark_cache_lag_records" {
			for _, one := range f.GetMetric() {
				records += int(one.GetGauge().GetValue())
			}
		}
	}
	return records
}

// While Redis accepts nothing, the lag grows with the log, including records that were not fetched
// yet. It is 0 again once Redis has all of them.
func TestTheLagGrowsWhileRedisTakesNothing(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, nParts)
	rdb := redisClient(t, env.RedisURL)
	cl := producer(t, env.Brokers)
	var closed atomic.Bool
	open := make(chan struct{})
	m := start(t, env.Brokers, topics, rdb, func(c *Config) {
		c.planted = func(where string) {
			if where == "write" && closed.Load() {
				<-open
			}
		}
	})
	m.ready(t)
	closed.Store(true)
	const sent = 300
	for i := range int64(sent) {
		produce(t, cl, topics, nParts, unreadRecord(small("ann", "c", i+1, 1)))
	}
	eventually(t, "all that was sent is behind", func() bool { return m.lag(t) == sent })
	closed.Store(false)
	close(open)
	eventually(t, "nothing is behind", func() bool { return m.lag(t) == 0 })
}
