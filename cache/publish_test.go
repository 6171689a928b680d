package cache

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// muted is a hook that prevents publishing, and counts the attempts.
type muted struct{ attempts int }

func (m *muted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (m *muted) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (m *muted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 && cmds[0].Name() == "publish" {
			m.attempts++
			return errors.New("the connection broke")
		}
		return next(ctx, cmds)
	}
}

// TestOnlyWhatIsHeardIsPublished: without subscribers the cache publishes nothing. It publishes
// changes that have a subscriber, and everything to one that subscribes to a pattern.
func TestOnlyWhatIsHeardIsPublished(t *testing.T) {
	warmAndCold(t, func(t *testing.T, w *rig, rdb *redis.Client) {
		published := func(m int64) float64 {
			before := counterOf(w.metrics.commands)
			if got := w.apply(t, reading(small("u", "c", m, m), "m", uint32(m), t0), reading(small("v", "c", m, m), "m", uint32(m), t0)); got != 2 {
				t.Fatalf("applied %d, want 2", got)
			}
			return counterOf(w.metrics.commands) - before
		}
		published(1)
		alone := published(2)
		for i, listen := range []struct {
			to   string
			more float64
		}{{UnreadChannel("u"), 1}, {ReadPointerChanges, 2}, {"unread:*", 4}} {
			subscribe := rdb.Subscribe
			if strings.Contains(listen.to, "*") {
				subscribe = rdb.PSubscribe
			}
			sub := subscribe(t.Context(), listen.to)
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := published(int64(3+i)) - alone; got != listen.more {
				t.Errorf("%s: %v commands more than without a listener, want %v", listen.to, got, listen.more)
			}
			_ = collect(t, sub, 1)
			if err := sub.Close(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "nobody listens", func() bool {
				n := rdb.PubSubNumSub(t.Context(), listen.to).Val()[listen.to]
				return n == 0 && rdb.PubSubNumPat(t.Context()).Val() == 0
			})
		}
	})
}

// TestWrittenAndNotPublished: an owner writes and dies before it publishes. The next owner reads
// the same records, finds them in Redis, and publishes them. It publishes later records only once.
func TestWrittenAndNotPublished(t *testing.T) {
	eachFormat(t, func(t *testing.T, rdb *redis.Client) {
		sub := rdb.Subscribe(t.Context(), UnreadChannel("u"))
		defer sub.Close()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		opts := *rdb.Options()
		broken := redis.NewClient(&opts)
		defer broken.Close()
		hook := &muted{}
		broken.AddHook(hook)
		d := reading(small("u", "c", 5, 1), "m4", 4, t0)

		dying := own(t, broken)
		ctx, die := context.WithCancel(t.Context())
		dying.retryMin = 1
		var b batch
		dying.join(&b, unreadRecord(d))
		done := make(chan error, 1)
		go func() { done <- dying.write(ctx, &b) }()
		eventually(t, "the values are written", func() bool { return rdb.HExists(t.Context(), "inbox:u", "c").Val() })
		die()
		if err := <-done; err == nil {
			t.Fatal("a batch that could not be published was said to be written")
		}
		if hook.attempts == 0 {
			t.Fatal("nothing was to be published")
		}

		next := own(t, rdb)
		next.part.begun = 1 // the end of the log when it began: after the record
		if got := next.apply(t, d); got != 0 {
			t.Errorf("applied %d values that were there, want 0", got)
		}
		next.part.begun = 0
		next.apply(t, d) // no other writer can have written it: published only once
		next.apply(t, reading(small("u", "c", 6, 1), "m4", 4, t0))
		got := collect(t, sub, 2)
		if !strings.Contains(got[0], `"stamp":"1.5.1.0"`) || !strings.Contains(got[1], `"stamp":"1.6.1.0"`) {
			t.Errorf("published %q", got)
		}
	})
}
