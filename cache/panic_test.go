package cache

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidemark/tidemark/cache/internal/blame"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestPanicEndsTheSession: wherever a cache panics, that session ends with an error and another one
// begins. In the end Redis has everything, written by one member or by three. No lock stays held,
// and no goroutine remains.
func TestPanicEndsTheSession(t *testing.T) {
	for i, n := range []int{1, 3, 1} {
		packed := i == 2
		t.Run(fmt.Sprint(n, packed), func(t *testing.T) {
			env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
			topics := env.Topics(t, nParts)
			rdb := redisClient(t, env.RedisURL)
			if packed {
				pack(t, rdb)
			}
			cl := producer(t, env.Brokers)
			rng := seeded(t)
			h := newHistory()
			var log testkit.Output
			var armed atomic.Pointer[string]
			var members []*member
			for range n {
				members = append(members, start(t, env.Brokers, topics, rdb, func(c *Config) {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
					c.planted = func(where string) {
						if place := armed.Load(); place != nil && strings.HasPrefix(where, *place) && armed.CompareAndSwap(place, nil) {
							panic("planted at " + *place)
						}
					}
				}))
			}
			ready := func() {
				for _, m := range members {
					m.ready(t)
				}
			}
			round := func() {
				for _, place := range []string{"apply", "write", "advance", "poll", "fill", "assign"} {
					armed.Store(&place)
					if place == "fill" || place == "assign" { // a session begins there
						if err := rdb.Del(t.Context(), epochKey).Err(); err != nil {
							t.Fatal(err)
						}
					}
					produce(t, cl, topics, nParts, h.grow(rng, 100, 5, 7)...)
					eventually(t, "the bug shows: "+place, func() bool { return armed.Load() == nil })
					log.Await(t, "planted at "+place)
					ready()
					eventually(t, "Redis has everything after a bug at "+place, func() bool {
						got := dump(t, rdb)
						for k, v := range h.want() {
							if got[k] != v {
								return false
							}
						}
						return true
					})
				}
				for i, m := range members {
					eventually(t, fmt.Sprintf("member %d holds no lock", i), func() bool {
						if !m.mu.TryLock() {
							return false
						}
						defer m.mu.Unlock()
						s := m.session
						if s == nil || !s.mu.TryLock() {
							return false
						}
						s.mu.Unlock()
						return true
					})
				}
			}
			ready()
			round()
			h.check(t, rdb)
			if testing.Short() {
				return
			}
			before := runtime.NumGoroutine()
			round()
			eventually(t, "goroutines are as before", func() bool { return runtime.NumGoroutine() <= before+15 })
		})
	}
}

// TestARecordThatAlwaysPanicsIsSkipped: the cache tries such a record blame.Tries times. Then it
// counts and logs it like a record that does not decode, and the records behind it reach Redis. The
// next value of the key makes the key right again.
func TestARecordThatAlwaysPanicsIsSkipped(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, nParts)
	rdb := redisClient(t, env.RedisURL)
	cl := producer(t, env.Brokers)
	var log testkit.Output
	var poison atomic.Bool
	poison.Store(true)
	tries := atomic.Int32{}
	m := start(t, env.Brokers, topics, rdb, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.planted = func(where string) {
			if where == "apply "+string(events.AppendUnreadKey(nil, []byte("ann"), []byte("bad"), nil)) && poison.Load() {
				tries.Add(1)
				panic("planted")
			}
		}
	})
	m.ready(t)
	unread := func(channel string) string { return rdb.HGet(t.Context(), "inbox:ann", channel).Val() }
	produce(t, cl, topics, nParts, unreadRecord(small("ann", "bad", 3, 1)), unreadRecord(small("ann", "good", 4, 1)))
	eventually(t, "what comes behind it is in Redis", func() bool { return strings.Contains(unread("good"), `"unread":4`) })
	m.ready(t)
	if n := tries.Load(); n != blame.Tries || unread("bad") != "" || m.counted("bad") != 1 {
		t.Errorf("tried %d times, Redis has %q, %d bad records counted", n, unread("bad"), m.counted("bad"))
	}
	log.Await(t, "every attempt to read it panicked")
	poison.Store(false)
	produce(t, cl, topics, nParts, unreadRecord(small("ann", "bad", 5, 1)))
	eventually(t, "its next value is in Redis", func() bool { return strings.Contains(unread("bad"), `"unread":5`) })
}
