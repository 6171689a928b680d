package presence

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Redis is emptied while users are connected at two gateways, and messages come at once. Whichever
// gateway judges them, it queues nothing for users of the other, and everything for users who are
// not connected.
func TestNothingIsQueuedForThoseWhomRedisForgot(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		a, b := c.couple(10*time.Minute, 10*time.Minute)
		for _, n := range []*node{a, b} {
			c.await("a number is in Redis", func() bool { return n.presence.beat.acked.Load() > 0 })
		}
		if err := c.rdb.Del(t.Context(), "ws:ann", "ws:bob", a.presence.beat.key, b.presence.beat.key).Err(); err != nil {
			t.Fatal(err)
		}
		c.queuesInAll(30, "dan", "cleo")
		c.at("ann", a) // long before the next refresh
		c.at("bob", b)
	})
}

// An older copy of Redis takes over. The gateway writes everything again that was written since
// then, even if the number exists.
func TestAnOlderCopyOfRedisIsNoticed(t *testing.T) {
	r := testkit.Miniredis(t)
	c := newCluster(t, testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + r.Addr()})
	n := c.node(10 * time.Minute)
	b := n.presence.beat
	c.await("a few numbers", func() bool { return b.acked.Load() > 1 })
	n.connect("ann")
	c.at("ann", n)
	if err := errors.Join(c.rdb.Set(t.Context(), b.key, 1, 0).Err(), c.rdb.Del(t.Context(), "ws:ann").Err()); err != nil {
		t.Fatal(err)
	}
	c.at("ann", n)
}

// TestBeat: what counts as a loss, and for how long no user may count as absent.
func TestBeat(t *testing.T) {
	r := testkit.Miniredis(t)
	rdb := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer func() { _ = rdb.Close() }()
	now := time.Unix(1000, 0)
	b := newBeat("g1", time.Minute, func() time.Time { return now })
	next := func(want bool) {
		t.Helper()
		lost, err := b.next(context.Background(), rdb, time.Minute)
		if lost != want || err != nil {
			t.Fatalf("lost %v, %v; want %v", lost, err, want)
		}
	}
	next(false) // the first one has nothing to find
	next(false)
	if err := r.Set(b.key, "3"); err != nil { // as if a write had got no answer
		t.Fatal(err)
	}
	next(false)
	if err := b.settled(); err != nil {
		t.Error(err)
	}
	for name, lose := range map[string]func() error{
		"older":   func() error { return r.Set(b.key, "1") },
		"strange": func() error { return r.Set(b.key, "x") },
		"missing": func() error { r.FlushAll(); return nil },
	} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		next(true)
		if err := b.settled(); !errors.Is(err, errForgotten) {
			t.Errorf("%s: %v", name, err)
		}
		now = now.Add(b.settleAfter())
		if err := b.settled(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		next(false)
	}
	r.SetError("LOADING for the test")
	if lost, err := b.next(context.Background(), rdb, time.Minute); lost || err == nil {
		t.Errorf("a Redis that does not answer has lost nothing: %v, %v", lost, err)
	}
}
