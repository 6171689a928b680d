package cache

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/testkit"
)

// beforeCursors runs something once, before the cursors are moved on.
type beforeCursors struct{ do atomic.Pointer[func()] }

func (b *beforeCursors) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *beforeCursors) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && slices.ContainsFunc(cmd.Args(), func(a any) bool { return a == "a" }) {
			if do := b.do.Load(); do != nil {
				(*do)()
			}
		}
		return next(ctx, cmd)
	}
}

func (b *beforeCursors) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A failover between the writing of a batch and the moving of its cursors: the new primary never had the batch, and its
// cursors are just where they were. What was lost is read again all the same.
func TestFailoverBeforeTheCursorsMove(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	mini := testkit.Miniredis(t)
	plain := redisClient(t, "redis://"+mini.Addr())
	hooked := redisClient(t, "redis://"+mini.Addr())
	hook := new(beforeCursors)
	hooked.AddHook(hook)
	cl := producer(t, kafka.ListenAddrs())
	h := newHistory()
	rng := seeded(t)
	m := start(t, kafka.ListenAddrs(), topics, hooked)
	m.ready(t)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	caughtUp(t, h, m)
	replica, strs := map[string]map[string]string{}, map[string]string{}
	copyAll(t, plain, replica, strs)

	var failed atomic.Bool
	failOver := func() { // cursors are moved by one goroutine
		held := map[string]map[string]string{}
		copyAll(t, plain, held, map[string]string{})
		if failed.Load() || maps.EqualFunc(held, replica, maps.Equal) {
			return // nothing was written that could be lost, or it is done
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

// Cursors do not move over a transaction whose mark is missing, or is that of an earlier batch.
func TestCursorsNeedTheMarksOfTheirBatch(t *testing.T) {
	redises(t, func(t *testing.T, rdb *redis.Client) {
		c := open(t, rdb, "topics", 1, "empty")
		c.begin(0, 0, 100, 0)
		next := int64(0)
		moves := func(what string, want bool, w *written) {
			t.Helper()
			_, err := c.filling.advance(t.Context(), []step{{partition{"t", 0}, next, next + 1}}, w)
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
