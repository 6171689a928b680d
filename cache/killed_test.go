package cache

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// The only member is killed. The next one continues to fill Redis as soon as the group has noticed,
// which takes SessionTimeout after the last heartbeat, and at most 2 s more.
func TestRedisGoesOnAfterAKill(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		session := time.Second
		if env.Real {
			session = 6 * time.Second // brokers accept no less without configuration
		}
		if testkit.RaceDetector {
			t.Logf("Redis went on %s after the kill", goesOn(t, env, rdb, session)) // this time is not checked
			return
		}
		testkit.AtMost(t, "Redis stood still after the kill", session+2*time.Second, func() time.Duration { return goesOn(t, env, rdb, session) })
	})
}

// goesOn kills the only member of a group, starts another one, and returns how long Redis got no
// updates. The connection of the killed member is cut: the brokers see no difference, because it
// sends nothing more.
func goesOn(t *testing.T, env testkit.Env, rdb *redis.Client, session time.Duration) time.Duration {
	t.Helper()
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	topics := env.Topics(t, 1)
	cl := producer(t, env.Brokers)
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 1, 1)))
	line := proxy.NewLine(t)
	killed := launch(t, env.Brokers, topics, rdb, func(c *Config) {
		c.SessionTimeout = session
		c.ClientOptions = append(c.ClientOptions, kgo.Dialer(line.Dialer(nil)))
	})
	defer killed.stop()
	killed.ready(t)
	line.Cut()
	at := time.Now()

	next := launch(t, env.Brokers, topics, rdb, func(c *Config) { c.SessionTimeout = session })
	defer next.stop()
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 2, 2)))
	eventually(t, "Redis has what came after the kill", func() bool {
		e, err := NewReader(rdb).Unread(t.Context(), "u", "c")
		return err == nil && e.Unread == 2
	})
	return time.Since(at)
}

// A member requests the configured session timeout, unless ClientOptions set another.
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
