package cache

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// An emptied Redis is filled again. Meanwhile readers miss, and never see a part of the values.
func TestWipedRedisIsFilledAgain(t *testing.T) {
	eachValues(t, func(t *testing.T, env testkit.Env, rdb *redis.Client) {
		topics := env.Topics(t, nParts)
		cl := producer(t, env.Brokers)
		rng := seeded(t)
		h := newHistory()
		produce(t, cl, topics, nParts, h.grow(rng, 2000, 5, 7)...)
		whole := h.want()
		m := start(t, env.Brokers, topics, rdb)
		m.ready(t)
		r := NewReader(rdb)
		for _, wipe := range []func() error{
			func() error { return rdb.FlushAll(t.Context()).Err() },
			func() error { return rdb.Del(t.Context(), epochKey).Err() },
		} {
			before := counterOf(m.metrics.fillings.WithLabelValues("empty")) + counterOf(m.metrics.fillings.WithLabelValues("epoch"))
			if err := wipe(); err != nil {
				t.Fatal(err)
			}
			misses := 0
			eventually(t, "a new filling was begun and finished", func() bool {
				for u := range 5 {
					user := "u" + string(rune('0'+u))
					entries, _, err := r.Inbox(t.Context(), user)
					if errors.Is(err, ErrMiss) {
						misses++
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					n := 0
					for k := range whole {
						if strings.HasPrefix(k, "inbox:"+user+" ") {
							n++
						}
					}
					if len(entries) != n {
						t.Fatalf("user %s: an inbox of %d channels, want %d or a miss", user, len(entries), n)
					}
				}
				ok, _ := m.Ready()
				return ok && counterOf(m.metrics.fillings.WithLabelValues("empty"))+counterOf(m.metrics.fillings.WithLabelValues("epoch")) > before
			})
			if misses == 0 {
				t.Error("no reader missed while Redis was empty")
			}
			h.check(t, rdb)
		}
	})
}

// Redis is killed and comes back empty, and then it hangs.
func TestRedisDownAndBack(t *testing.T) {
	server := testkit.Redis(t)
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), nParts, 1)
	rdb := redisClient(t, server.URL, func(o *redis.Options) { o.ReadTimeout = 300 * time.Millisecond })
	cl := producer(t, kafka.ListenAddrs())
	rng := seeded(t)
	h := newHistory()
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	produce(t, cl, topics, nParts, h.grow(rng, 300, 5, 7)...)
	caughtUp(t, h, m)

	server.Kill()
	produce(t, cl, topics, nParts, h.grow(rng, 300, 5, 7)...) // the producer never waits for Redis
	eventually(t, "the failure shows", func() bool { ok, _ := m.Ready(); return !ok })
	if _, lines := m.Ready(); len(lines) != 1 || !strings.Contains(lines[0], "refused") && !strings.Contains(lines[0], "EOF") && !strings.Contains(lines[0], "reset") {
		t.Errorf("not ready because of %q", lines)
	}
	server.Start()
	m.ready(t)
	h.check(t, rdb) // ready means complete

	server.Pause()
	produce(t, cl, topics, nParts, h.grow(rng, 300, 5, 7)...)
	eventually(t, "the hanging Redis shows", func() bool { ok, _ := m.Ready(); return !ok })
	server.Continue()
	m.ready(t)
	h.await(t, rdb)
	h.check(t, rdb)
}

// A replica that lacked some writes takes over. Data and cursors are older, and the cache reads the
// difference again.
func TestFailoverThatLostWrites(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	mini := testkit.Miniredis(t)
	rdb := redisClient(t, "redis://"+mini.Addr())
	cl := producer(t, kafka.ListenAddrs())
	h := newHistory()
	rng := seeded(t)
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	caughtUp(t, h, m)
	replica := map[string]map[string]string{} // the current content of Redis
	strs := map[string]string{}
	copyAll(t, rdb, replica, strs)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	caughtUp(t, h, m)
	h.check(t, rdb)

	if err := putBack(t.Context(), rdb, replica, strs); err != nil {
		t.Fatal(err)
	}
	h.await(t, rdb)
	h.check(t, rdb)
	m.ready(t)
	if n := counterOf(m.metrics.fillings.WithLabelValues("empty")) + counterOf(m.metrics.fillings.WithLabelValues("epoch")); n != 1 {
		t.Errorf("%v fillings: the rest should have been read, not everything", n)
	}
}

func copyAll(t *testing.T, rdb *redis.Client, hashes map[string]map[string]string, strs map[string]string) {
	t.Helper()
	for _, k := range rdb.Keys(t.Context(), "*").Val() {
		if rdb.Type(t.Context(), k).Val() == "hash" {
			hashes[k] = rdb.HGetAll(t.Context(), k).Val()
		} else {
			strs[k] = rdb.Get(t.Context(), k).Val()
		}
	}
}

// putBack replaces the content of Redis with that of copyAll, all at once, as a failover does.
func putBack(ctx context.Context, rdb *redis.Client, hashes map[string]map[string]string, strs map[string]string) error {
	pipe := rdb.TxPipeline()
	pipe.FlushAll(ctx)
	for k, v := range hashes {
		pipe.HSet(ctx, k, v)
	}
	for k, v := range strs {
		pipe.Set(ctx, k, v, 0)
	}
	_, err := pipe.Exec(ctx)
	return err
}
