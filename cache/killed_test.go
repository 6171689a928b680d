package cache

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// After the only member was killed the next one fills Redis on as soon as the group has noticed,
// which is SessionTimeout after the last heartbeat. To the brokers a member whose line is cut is
// one that was killed: it says nothing any more.
func TestRedisGoesOnAfterAKill(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		session := time.Second
		if env.Real {
			session = 6 * time.Second // no broker takes less unless it is told
		}
		topics := env.Topics(t, 1)
		cl := producer(t, env.Brokers)
		produce(t, cl, topics, 1, unreadRecord(small("u", "c", 1, 1)))
		line := proxy.NewLine(t)
		killed := launch(t, env.Brokers, topics, rdb, func(c *Config) {
			c.SessionTimeout = session
			c.ClientOptions = append(c.ClientOptions, kgo.Dialer(line.Dialer(nil)))
		})
		killed.ready(t)
		line.Cut()
		at := time.Now()
		killed.stop()
		took := time.Since(at)

		produce(t, cl, topics, 1, unreadRecord(small("u", "c", 2, 2)))
		start(t, env.Brokers, topics, rdb, func(c *Config) { c.SessionTimeout = session })
		eventually(t, "Redis has what came after the kill", func() bool {
			e, err := NewReader(rdb).Unread(t.Context(), "u", "c")
			return err == nil && e.Unread == 2
		})
		back := time.Since(at)
		t.Logf("a session of %s: stopping without brokers took %s, Redis went on %s after the kill", session, took, back)
		// Two seconds on an idle machine; what is judged is that no member has a session of kgo's
		// own 45 s.
		if back > session+20*time.Second {
			t.Errorf("Redis stood still for %s with a session of %s", back, session)
		}
	})
}

// The session that a member asks for is the configured one, unless ClientOptions say otherwise.
func TestSessionTimeoutIsTheMembers(t *testing.T) {
	c := testkit.FakeKafka(t)
	topics := testkit.Topics(t, c.ListenAddrs(), 1, 1)
	m := start(t, c.ListenAddrs(), topics, redisClient(t, "redis://"+testkit.Miniredis(t).Addr()), func(c *Config) { c.SessionTimeout = 3 * time.Second })
	m.ready(t)
	m.mu.Lock()
	client := m.session.client
	m.mu.Unlock()
	if got := client.OptValue(kgo.SessionTimeout); got != 3*time.Second {
		t.Errorf("the member's session is %v", got)
	}
}
