package testkit

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func redisClient(t *testing.T, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	opts.MaxRetries, opts.ReadTimeout = -1, 300*time.Millisecond
	cl := redis.NewClient(opts)
	t.Cleanup(func() { _ = cl.Close() })
	return cl
}

func TestRedisBelongsToOneTest(t *testing.T) {
	a, b := Redis(t), Redis(t)
	if a.URL == b.URL {
		t.Fatalf("two tests share %s", a.URL)
	}
}

func TestRedisPauseAndRestart(t *testing.T) {
	r := Redis(t)
	ctx := testContext(t)
	cl := redisClient(t, r.URL)
	if err := cl.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	r.Pause()
	if err := cl.Get(ctx, "k").Err(); err == nil {
		t.Error("a paused Redis answers")
	}
	r.Continue()
	if got, err := cl.Get(ctx, "k").Result(); got != "v" || err != nil {
		t.Errorf("after the pause: %q, %v", got, err)
	}
	r.Restart()
	if err := cl.Get(ctx, "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("after a restart: %v; want an empty Redis", err)
	}
}
