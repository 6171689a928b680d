package cache

import (
	"crypto/rand"
	mrand "math/rand/v2"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// A hundred sessions (B9): a cache releases all resources of a session, a transaction or a
// connection, however it ends.

// fault is something that goes wrong with a cache under traffic.
type fault struct {
	name string
	do   func()
	ends bool // ends the session: another one must follow
}

// endless is a cache with all its connections, each of which can fail.
type endless struct {
	t          *testing.T
	m          *member
	mini       *miniredis.Miniredis
	rdb        *redis.Client // the client of the cache
	direct     *redis.Client
	toRedis    *proxy.Line
	toKafka    *proxy.Line
	start      func() *member
	write      func()
	r          *mrand.Rand
	begun      int // sessions that a fault was meant to begin
	happenings map[string]int
}

// faults returns all faults that may happen.
func (e *endless) faults() []fault {
	must := func(err error) {
		if err != nil {
			e.t.Fatal(err)
		}
	}
	ctx := e.t.Context()
	return []fault{
		{"emptied", e.empty, true},
		{"the epoch is gone", func() { must(e.direct.Del(ctx, epochKey).Err()) }, true},
		{"a cursor goes back", func() {
			must(e.direct.HSet(ctx, cursorsKey, e.somePart().String(), 0).Err())
		}, true},
		{"stopped and started", func() { e.m.stop(); e.m = e.start() }, true},
		{"stopped in the middle of opening", func() {
			e.empty()
			e.m.stop()
			e.start().stop()
			e.m = e.start()
		}, true},
		{"the topics' owner is another one", func() {
			for _, field := range e.fields() {
				must(e.direct.HSet(ctx, ownersKey, field, rand.Text()).Err())
			}
			e.write()
		}, true},
		{"emptied, and joining is cut", func() {
			e.toKafka.CutKafka(kmsg.JoinGroup, proxy.Answer, 1)
			e.empty()
		}, true},
		{"emptied, and nobody says where the logs end", func() {
			e.toKafka.CutKafka(kmsg.ListOffsets, proxy.Answer, 1)
			e.empty()
		}, true},
		{"Redis refuses", func() {
			e.refuse(true)
			e.write()
			eventually(e.t, "the refusal shows", func() bool { ok, _ := e.m.Ready(); return !ok })
			e.refuse(false)
		}, false},
		{"a request to Redis is cut", func() { e.toRedis.CutAfter(proxy.Up, e.r.Int64N(2000)) }, false},
		{"an answer of Redis is cut", func() { e.toRedis.CutAfter(proxy.Down, e.r.Int64N(300)) }, false},
		{"Redis is away", func() {
			e.toRedis.Cut()
			eventually(e.t, "that Redis is away shows", func() bool { ok, _ := e.m.Ready(); return !ok })
			e.toRedis.Mend()
		}, false},
		{"the brokers' connections break", func() { e.toKafka.Break() }, false},
		{"an answer with records is cut", func() { e.toKafka.CutKafka(kmsg.Fetch, proxy.Answer, 1) }, false},
	}
}

// empty empties Redis. It first removes the owners, which every transaction notices. The embedded
// Redis, unlike the real one, commits transactions that watch a key which FLUSHALL removed.
func (e *endless) empty() {
	e.mini.Del(ownersKey)
	e.mini.FlushAll()
}

// refuse makes Redis refuse new commands, or accept them again. A transaction that has begun still
// ends: if one of its commands failed, the embedded Redis, unlike the real one, would execute the
// others.
func (e *endless) refuse(on bool) {
	var hook server.Hook
	if on {
		hook = func(p *server.Peer, command string, _ ...string) bool {
			if command != "WATCH" && command != "EVAL" && command != "EVALSHA" {
				return false
			}
			p.WriteError("LOADING Redis is loading the dataset in memory")
			return true
		}
	}
	e.mini.Server().SetPreHook(hook)
}

// fields returns the names of all partitions that the cache owns.
func (e *endless) fields() []string {
	fields, err := e.direct.HKeys(e.t.Context(), ownersKey).Result()
	if err != nil || len(fields) == 0 {
		e.t.Fatalf("owners: %v, %v", fields, err)
	}
	return fields
}

// somePart returns a partition whose cursor has moved.
func (e *endless) somePart() partition {
	var moved partition
	eventually(e.t, "a cursor has moved", func() bool {
		s := e.now()
		if s == nil {
			return false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for p, part := range s.parts {
			if part.Stored > 0 {
				moved = p
				return true
			}
		}
		return false
	})
	return moved
}

// now returns the current session, nil if there is none.
func (e *endless) now() *session {
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	return e.m.session
}

// happen makes one fault happen, and waits until the cache is complete again.
func (e *endless) happen(f fault) {
	e.t.Helper()
	before := e.now()
	e.write()
	f.do()
	e.write()
	e.happenings[f.name]++
	again := time.Now()
	eventually(e.t, "the cache is complete again after: "+f.name, func() bool {
		if f.ends && e.now() == before && time.Since(again) > 300*time.Millisecond {
			again = time.Now()
			f.do() // a rebalance has already repaired it
		}
		s := e.now()
		ok, _ := e.m.Ready()
		return ok && s != nil && (s != before || !f.ends)
	})
	if f.ends {
		e.begun++
	}
}

// TestHundredSessions (B9): a cache begins about a hundred sessions. Its Redis is emptied, goes
// back, refuses commands, breaks off or is away; its brokers break off; and the cache is stopped
// and started. It uses no more memory, files and goroutines after the second half than after the
// first, and Redis has the values of the topics.
func TestHundredSessions(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), nParts, 1)
	rng := seeded(t)
	e := &endless{t: t, mini: testkit.Miniredis(t), toRedis: proxy.NewLine(t), toKafka: proxy.NewLine(t), r: rng, happenings: map[string]int{}}
	e.direct = redisClient(t, "redis://"+e.mini.Addr())
	e.rdb = redisClient(t, "redis://"+e.mini.Addr(), func(o *redis.Options) {
		o.Dialer, o.PoolSize = e.toRedis.Dialer(nil), 4
	})
	cl := producer(t, kafka.ListenAddrs())
	h := newHistory()
	e.write = func() { produce(t, cl, topics, nParts, h.grow(rng, 2, 5, 7)...) }
	e.start = func() *member {
		return launch(t, kafka.ListenAddrs(), topics, e.rdb, func(c *Config) {
			c.CheckEvery, c.CommitEvery = 2*time.Millisecond, 2*time.Millisecond
			c.ClientOptions = append(c.ClientOptions, kgo.Dialer(e.toKafka.Dialer(nil)), kgo.SessionTimeout(time.Second))
		})
	}
	produce(t, cl, topics, nParts, h.grow(rng, 300, 5, 7)...)
	t.Cleanup(func() {
		if e.m != nil {
			e.m.stop()
		}
	})

	rounds := 7
	if testing.Short() {
		rounds = 3
	}
	list := e.faults()
	begun := time.Now()
	testkit.NoGrowth(t, testkit.Usage{Goroutines: 6, Descriptors: 6, Heap: 1 << 20, Resident: 48 << 20}, func() {
		e.m = e.start()
		e.m.ready(t)
		for range rounds {
			for _, i := range rng.Perm(len(list)) {
				e.happen(list[i])
			}
		}
		e.toRedis.Mend() // ends cuts that no bytes have reached
		e.toKafka.Mend()
		e.m.ready(t)
		h.await(t, e.rdb)
		e.m.stop() // so that only the rest is measured
	})
	t.Logf("%d sessions and %d connections to Redis, %d to brokers in %s; %v", e.begun, e.toRedis.Made(), e.toKafka.Made(),
		time.Since(begun).Round(time.Millisecond), e.happenings)
	h.check(t, e.direct)
}
