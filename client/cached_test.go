package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/client"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A client reads the content of Redis without a node. If Redis lacks an answer, the result is a
// miss and never zero.
func TestCachedNeedsNoNode(t *testing.T) {
	m := testkit.Miniredis(t)
	rdb := redis.NewClient(&redis.Options{Addr: m.Addr()})
	defer rdb.Close()
	c, err := client.New(client.Config{URL: "http://127.0.0.1:1", Redis: rdb})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Cached(t.Context(), "ann"); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("of an empty Redis: %v, want ErrMiss", err)
	}
	m.HSet(cache.InboxKey("ann"), "general", `{"unread":3,"muted":false,"latest_at":"2026-01-02T03:04:05.678Z","stamp":"1.2.3.0"}`)
	m.HSet(cache.InboxThreadsKey("ann"), cache.ThreadField("general", "m1"), `{"unread":2,"touched_at":"2026-01-02T03:04:05.678Z","stamp":"1.2.3.0"}`)
	if err := m.Set("tidemark:epoch", "4/e"); err != nil {
		t.Fatal(err)
	}
	v, err := c.Cached(t.Context(), "ann")
	if err != nil || len(v.Channels) != 1 || len(v.Threads) != 1 || v.Threads[0].ThreadID != "m1" {
		t.Fatalf("%+v, %v", v, err)
	}
	if badge := v.Totals.Unread + v.Totals.ThreadUnread; badge != 5 {
		t.Errorf("badge %d, want 5", badge)
	}
	without, err := client.New(client.Config{URL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := without.Cached(t.Context(), "ann"); err == nil || !strings.Contains(err.Error(), "no Redis") {
		t.Errorf("without a Redis: %v", err)
	}
}
