package cache

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// between runs a function once, between the reads and the writes of a transaction.
type between struct{ do func() }

func (b *between) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *between) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if do := b.do; do != nil && cmds[0].Name() == "multi" {
			b.do = nil
			do()
		}
		return next(ctx, cmds)
	}
}

// The partition moves after the former owner has compared values and before it writes. Redis
// refuses the write.
func TestOwnerThatLosesThePartitionInBetween(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		own(t, rdb).apply(t, small("u", "c", 1, 0))
		hook := new(between)
		former := redisClient(t, "redis://"+rdb.Options().Addr)
		former.AddHook(hook)
		old := own(t, former)
		hook.do = func() { own(t, rdb).apply(t, small("u", "c", 9, 0), left("u", "d", 9, 0)) }
		if n := old.apply(t, small("u", "c", 8, 0), small("u", "d", 8, 0)); n != 0 {
			t.Errorf("the former owner applied %d deltas", n)
		}
		if hook.do != nil {
			t.Fatal("nothing happened in between: the test shows nothing")
		}
		if !old.part.lost.Load() {
			t.Error("the former owner does not know that it lost the partition")
		}
		if _, known := old.part.table.get(batchOf(small("u", "c", 8, 0)).deltas[0].id); known {
			t.Error("the former owner remembers what it did not write")
		}
		equalDump(t, rdb, map[string]string{"inbox:u c": string(entry.AppendValue(nil, small("u", "c", 9, 0)))})
	})
}

// The partition moves away and comes back in between. The values that the owner knows are from its
// first ownership, and outdated in the second.
func TestOwnerThatGetsThePartitionBackInBetween(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		f, _, _, err := openFilling(t.Context(), rdb, formatOf(rdb), "topics", 1)
		if err != nil {
			t.Fatal(err)
		}
		hook := new(between)
		hooked := redisClient(t, "redis://"+rdb.Options().Addr)
		hooked.AddHook(hook)
		w := own(t, hooked)
		again := func() { // does what assign does
			token := rand.Text()
			if _, err := f.begin(t.Context(), token, []partition{w.part.partition}, []extent{{Start: 0, End: 0}}); err != nil {
				t.Error(err)
			}
		}
		w.apply(t, small("u", "c", 1, 0))
		hook.do = func() { own(t, rdb).apply(t, small("u", "c", 9, 0)); again() }
		if n := w.apply(t, small("u", "c", 8, 0)); n != 0 || hook.do != nil {
			t.Errorf("applied %d deltas of the first ownership", n)
		}
		equalDump(t, rdb, map[string]string{"inbox:u c": string(entry.AppendValue(nil, small("u", "c", 9, 0)))})
	})
}

// The owner of another partition changes. The transaction is repeated and succeeds.
func TestOwnerOfAnotherPartitionChangesInBetween(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		hook := new(between)
		hooked := redisClient(t, "redis://"+rdb.Options().Addr)
		hooked.AddHook(hook)
		w := own(t, hooked)
		hook.do = func() { rdb.HSet(t.Context(), ownersKey, "t/7", "somebody") }
		if n := w.apply(t, small("u", "c", 8, 0)); n != 1 || hook.do != nil {
			t.Errorf("applied %d deltas, want 1", n)
		}
		if n := counterOf(w.metrics.redisErrors); n != 0 {
			t.Errorf("%v errors were counted", n)
		}
	})
}

// Redis is emptied in between. Nothing is written into the empty Redis. The embedded Redis does not
// count that as a change of a watched key. There the cursors show it right afterwards
// (TestWipedRedisIsFilledAgain).
func TestRedisIsEmptiedInBetween(t *testing.T) {
	rdb := redisClient(t, testkit.Redis(t).URL)
	hook := new(between)
	hooked := redisClient(t, "redis://"+rdb.Options().Addr)
	hooked.AddHook(hook)
	w := own(t, hooked)
	hook.do = func() { rdb.FlushAll(t.Context()) }
	if n := w.apply(t, small("u", "c", 8, 0)); n != 0 || !w.part.lost.Load() {
		t.Errorf("applied %d deltas, lost: %v", n, w.part.lost.Load())
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Error("something was written into the emptied Redis")
	}
}

// A batch has two partitions, one of which is lost. The other one is written.
func TestOneOfTwoPartitionsIsLost(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		w := own(t, rdb)
		other := &part{partition: partition{Topic: "t", Number: 1}, token: rand.Text(), table: newTable(10)}
		rdb.HSet(t.Context(), ownersKey, other.String(), "somebody")
		b := &batch{format: w.format}
		b.reset(3)
		b.addUnread(unreadRecord(small("u", "c", 1, 0)), w.part)
		b.addUnread(unreadRecord(small("v", "c", 1, 0)), other)
		b.addChannel(channelRecord(head("c", 1, 1)), other)
		if n := w.send(t, b); n != 1 || b.tally.skipped != 2 {
			t.Errorf("applied %d, skipped %d; want 1 and 2", n, b.tally.skipped)
		}
		if w.part.lost.Load() || !other.lost.Load() {
			t.Error("the wrong partition is lost")
		}
		equalDump(t, rdb, map[string]string{"inbox:u c": string(entry.AppendValue(nil, small("u", "c", 1, 0)))})
	})
}

// A member that the group has forgotten takes a partition as it wakes up. The rightful owner takes
// it back.
func TestStolenPartitionIsTakenBack(t *testing.T) {
	kafka := testkit.FakeKafka(t)
	topics := testkit.Topics(t, kafka.ListenAddrs(), 1, 1)
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	cl := producer(t, kafka.ListenAddrs())
	rng := seeded(t)
	h := newHistory()
	m := start(t, kafka.ListenAddrs(), topics, rdb)
	m.ready(t)
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	h.await(t, rdb)
	field := partition{Topic: topics.Name(events.TopicUnread), Number: 0}.String()
	rdb.HSet(t.Context(), ownersKey, field, "a woken member")
	produce(t, cl, topics, 1, h.grow(rng, 100, 3, 4)...)
	h.await(t, rdb)
	if rdb.HGet(t.Context(), ownersKey, field).Val() == "a woken member" {
		t.Error("the partition still belongs to the woken member")
	}
}
