package cache

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// beforeCursors runs a function before the cursors move. If the function ends the context, they do
// not move.
type beforeCursors struct {
	do atomic.Pointer[func(context.Context)]
}

func (b *beforeCursors) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *beforeCursors) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && slices.ContainsFunc(cmd.Args(), func(a any) bool { return a == "a" }) {
			if do := b.do.Load(); do != nil {
				(*do)(ctx)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return next(ctx, cmd)
	}
}

func (b *beforeCursors) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// site returns topics of one partition, and a Redis with two clients, the second of which has the
// hook.
func site(t *testing.T) (kafka []string, topics testkit.TopicSet, plain, hooked *redis.Client, hook *beforeCursors) {
	t.Helper()
	kafka = testkit.FakeKafka(t).ListenAddrs()
	topics = testkit.Topics(t, kafka, 1, 1)
	url := "redis://" + testkit.Miniredis(t).Addr()
	plain, hooked, hook = redisClient(t, url), redisClient(t, url), new(beforeCursors)
	hooked.AddHook(hook)
	return kafka, topics, plain, hooked, hook
}

// A failover happens after a batch was written and before its cursors moved. The new primary never
// had the batch, and its cursors are unchanged. The cache nevertheless reads the lost records
// again.
func TestFailoverBeforeTheCursorsMove(t *testing.T) {
	kafka, topics, plain, hooked, hook := site(t)
	cl := producer(t, kafka)
	h := newHistory()
	rng := seeded(t)
	m := start(t, kafka, topics, hooked)
	m.ready(t)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	caughtUp(t, h, m)
	replica, strs := map[string]map[string]string{}, map[string]string{}
	copyAll(t, plain, replica, strs)

	var failed atomic.Bool
	failOver := func(context.Context) { // only one goroutine moves cursors
		stored := map[string]map[string]string{}
		copyAll(t, plain, stored, map[string]string{})
		if failed.Load() || maps.EqualFunc(stored, replica, maps.Equal) {
			return // nothing to lose was written, or it is done
		}
		if err := putBack(t.Context(), plain, replica, strs); err != nil {
			t.Error(err)
		}
		failed.Store(true)
	}
	hook.do.Store(&failOver)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	eventually(t, "the failover", failed.Load)
	h.await(t, plain)
	h.check(t, plain)
	m.ready(t)
	if n := counterOf(m.metrics.fillings.WithLabelValues("empty")) + counterOf(m.metrics.fillings.WithLabelValues("epoch")); n != 1 {
		t.Errorf("%v fillings: the rest should have been read, not everything", n)
	}
}

// A member dies after it wrote a batch and before it moved the cursors. The next member finds all
// of it in Redis, and is done.
func TestCrashBeforeTheCursorsMove(t *testing.T) {
	kafka, topics, plain, hooked, hook := site(t)
	cl := producer(t, kafka)
	first := start(t, kafka, topics, hooked)
	produce(t, cl, topics, 1, unreadRecord(small("u", "before", 1, 0))) // so that the next record is new, and not part of a filling
	cursor := topics.Name(events.TopicUnread) + "/0"
	moved := func(to string) func() bool {
		return func() bool { return plain.HGet(t.Context(), cursorsKey, cursor).Val() == to }
	}
	eventually(t, "the first cursor", moved("1"))
	first.ready(t)
	written := func(ctx context.Context) bool { return plain.HExists(ctx, InboxKey("u"), "c").Val() }
	died := make(chan struct{})
	var once sync.Once
	dies := func(ctx context.Context) {
		if written(ctx) {
			once.Do(func() { close(died) })
			<-ctx.Done()
		}
	}
	hook.do.Store(&dies)
	produce(t, cl, topics, 1, unreadRecord(small("u", "c", 1, 0)))
	<-died
	first.stop()
	next := start(t, kafka, topics, plain)
	eventually(t, "the next cursor", moved("2"))
	next.ready(t)
	if !written(t.Context()) {
		t.Error("what was written is gone")
	}
}

// Cursors do not move past a transaction whose mark is missing, or is from an earlier batch.
func TestCursorsNeedTheMarksOfTheirBatch(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 100, 0)
		next := int64(0)
		moves := func(what string, want bool, w *written) {
			t.Helper()
			_, err := c.filling.advance(t.Context(), []step{{partition{Topic: "t", Number: 0}, next, next + 1}}, w)
			if (err == nil) != want {
				t.Fatalf("%s: %v", what, err)
			}
			if want {
				next++
			}
		}
		const key = prefixWritten + "w"
		moves("nothing was written", true, &written{})
		moves("no marks", false, &written{key: key, batch: 7, slots: []int{0}})
		rdb.HSet(t.Context(), key, "0", 7, "2", 7, "3", 6)
		moves("all marks", true, &written{key: key, batch: 7, slots: []int{2, 0}})
		moves("one is of another batch", false, &written{key: key, batch: 7, slots: []int{0, 2, 3}})
		moves("one is missing", false, &written{key: key, batch: 7, slots: []int{0, 1, 2}})
	})
}

// Redis already has a batch that is read again, because its writer crashed before it moved the
// cursor. The next writer moves it, and leaves a mark for that, because a failover may lose the
// values that it found as well as those that it writes.
func TestCursorsMoveOverWhatWasFound(t *testing.T) {
	for name, begun := range map[string]int64{"written by another, to be published again": 1 << 40, "known to be published": 0} {
		t.Run(name, func(t *testing.T) {
			eachFormat(t, func(t *testing.T, rdb *redis.Client) {
				c := open(t, rdb, "topics", 1, "empty")
				c.begin(0, 0, 100, 0)
				d := reading(small("u", "c", 5, 1), "m4", 4, t0)
				if n := own(t, rdb).apply(t, d); n != 1 {
					t.Fatalf("applied %d", n)
				}
				next := own(t, rdb)
				next.part.begun = begun
				b := next.join(new(batch), unreadRecord(d))
				if n := next.send(t, b); n != 0 {
					t.Fatalf("applied %d of what Redis holds", n)
				}
				move := func() error {
					_, err := c.filling.advance(t.Context(), []step{{partition{Topic: "t", Number: 0}, 0, 1}}, &b.written)
					return err
				}
				if ttl := rdb.TTL(t.Context(), next.marks).Val(); ttl <= 23*time.Hour {
					t.Errorf("marks are kept for %v, want a day", ttl)
				}
				rdb.Rename(t.Context(), next.marks, "elsewhere") // as a replica that never had it
				if err := move(); !errors.Is(err, errReopen) {
					t.Errorf("without the mark: %v, want errReopen", err)
				}
				rdb.Rename(t.Context(), "elsewhere", next.marks)
				if err := move(); err != nil {
					t.Errorf("with the mark: %v", err)
				}
			})
		})
	}
}
