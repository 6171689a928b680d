package processor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
)

// linesSession is the session timeout of the members in these tests.
const linesSession = 2 * time.Second

// over returns a configuration in which a member's clients use a line.
func over(c Config, line *proxy.Line) Config {
	c.ClientOptions = append(c.ClientOptions, kgo.Dialer(line.Dialer(nil)), kgo.SessionTimeout(linesSession),
		kgo.RequestTimeoutOverhead(linesSession/2))
	c.StopTimeout = linesSession
	return c
}

// until keeps writing a few events until something has happened.
func (c *company) until(what string, happened <-chan struct{}) {
	c.s.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		c.write(5)
		select {
		case <-happened:
			return
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			c.s.t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// TestLinesBreak (R7): two members fold, each over a connection of its own. Under traffic the test
// cuts one connection during requests of each kind, and during their answers: then the broker has
// applied the request and the member does not know. Later the connection is half-open, slow, and
// frozen for longer than a session. In the end every invariant holds.
func TestLinesBreak(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 4
		s := newSite(t, env.Brokers, n)
		tr := s.company(rand.Uint64())
		lines := [2]*proxy.Line{proxy.NewLine(t), proxy.NewLine(t)}
		ca, cb := over(s.forCompany(t.TempDir()), lines[0]), over(s.forCompany(t.TempDir()), lines[1])
		ca.Standbys, cb.Standbys = 1, 1
		a, b := s.start(ca), s.start(cb)
		a.ready(n / 2)
		b.ready(n / 2)

		for _, key := range []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.OffsetCommit, kmsg.Heartbeat} {
			for _, half := range []proxy.Half{proxy.Request, proxy.Answer} {
				cut := lines[0].CutKafka(key, half, 2)
				tr.write(100)
				tr.until(fmt.Sprintf("%s, half %d, is cut", key.Name(), half), cut)
			}
		}
		// A third member comes and goes, so all members join, open partitions, and read where to
		// begin.
		for _, half := range []proxy.Half{proxy.Request, proxy.Answer} {
			for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.ListOffsets} {
				lines[0].CutKafka(key, half, 1)
				lines[1].CutKafka(key, half, 1)
			}
			third := s.start(over(s.forCompany(t.TempDir()), proxy.NewLine(t)))
			tr.write(100)
			until(t, "a third member has a part", func() bool { return len(third.numbers()) > 0 })
			third.stop()
			tr.write(100)
		}
		for _, line := range lines {
			line.Mend()
		}
		until(t, "two members have all partitions", func() bool { return len(a.numbers())+len(b.numbers()) == n })

		lines[0].Abandon()
		tr.write(150)
		lines[1].SetDelay(20 * time.Millisecond)
		lines[1].SetRate(300 << 10)
		tr.write(150)
		s.caughtUp(a, b)
		lines[1].Mend()
		lines[0].Freeze()
		tr.write(150)
		b.ready(n)
		lines[0].Mend()
		tr.write(150)
		a.ready(n / 2)
		b.ready(n / 2)
		s.caughtUp(a, b)
		a.stop()
		b.stop()
		left := s.remains(ca.Settings)
		s.checkStores(left, ca, ca.DataDir, cb.DataDir)
		s.checkOutputs(left, true)
		t.Logf("%d and %d connections were made", lines[0].Made(), lines[1].Made())
	})
}

// TestLinesOfTheCacheBreak (R7): the lines of a cache to Kafka and to Redis break, freeze and slow
// down while a member publishes. Once they are mended, Redis equals the model of the log.
func TestLinesOfTheCacheBreak(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		seed := rand.Uint64()
		tr := s.company(seed)
		r := rand.New(rand.NewPCG(seed, 9))
		c := s.forCompany(t.TempDir())
		m := s.start(c).ready(2)
		toKafka, toRedis := proxy.NewLine(t), proxy.New(t, strings.TrimPrefix(env.RedisURL, "redis://"))
		rdb := s.fillRedis(toKafka, toRedis.Addr())
		direct := redisAt(t, strings.TrimPrefix(env.RedisURL, "redis://"))

		for range 4 {
			for _, fault := range []struct {
				name string
				do   func() <-chan struct{}
			}{
				{"cut in the middle of a pipeline", func() <-chan struct{} { return toRedis.CutAfter(proxy.Up, r.Int64N(3000)) }},
				{"cut in the middle of the answer to a pipeline", func() <-chan struct{} { return toRedis.CutAfter(proxy.Down, r.Int64N(300)) }},
				{"cut in the middle of what is fetched", func() <-chan struct{} { return toKafka.CutKafka(kmsg.Fetch, proxy.Answer, 1) }},
				{"cut in the middle of a commit", func() <-chan struct{} { return toKafka.CutKafka(kmsg.OffsetCommit, proxy.Answer, 1) }},
			} {
				tr.until(fault.name, fault.do())
			}
		}
		toRedis.Freeze()
		tr.write(100)
		until(t, "the cache says that Redis is silent", func() bool { return toRedis.Made() > 0 && rdb.trouble() })
		toRedis.Mend()
		toRedis.Cut()
		toKafka.Abandon()
		tr.write(100)
		toRedis.Mend()
		toRedis.Abandon()
		tr.write(100)
		toRedis.SetDelay(5 * time.Millisecond)
		toRedis.SetRate(200 << 10)
		tr.write(100)
		s.caughtUp(m)
		m.stop()
		left := s.remains(c.Settings)
		s.checkRedis(left, direct)
		s.checkStores(left, c, c.DataDir)
		s.checkOutputs(left, false)
	})
}

// filler is a running cache.
type filler struct{ *cache.Cache }

// trouble reports whether the cache reports a problem.
func (f filler) trouble() bool { ok, _ := f.Ready(); return !ok }

// fillRedis runs a cache of the site until the test ends.
func (s *site) fillRedis(line *proxy.Line, addr string) filler {
	s.t.Helper()
	names := s.names()
	c, err := cache.New(cache.Config{
		Brokers: s.brokers, Group: s.group + "-cache", Unread: names.Unread, Channels: names.Channels,
		ClientOptions: append(testkit.FastClientOpts(), kgo.Dialer(line.Dialer(nil)), kgo.SessionTimeout(linesSession),
			kgo.RequestTimeoutOverhead(linesSession/2)),
		Redis: redisAt(s.t, addr), CheckEvery: 50 * time.Millisecond, CommitEvery: 20 * time.Millisecond,
		RetryMin: 5 * time.Millisecond, RetryMax: 100 * time.Millisecond,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("cache: %v", err)
		}
	})
	return filler{c}
}

// redisAt returns a client that notices a silent Redis after a second.
func redisAt(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second})
	t.Cleanup(func() { _ = c.Close() }) // nothing is pending on it
	return c
}
