package presence

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// nobody has no connections.
type nobody struct{}

func (nobody) Has(string) bool { return false }
func (nobody) Names() []string { return nil }

// Run ends while its subscription still dials a Redis that hangs: go-redis gives such a dial no
// context, and closes the subscription only once it has ended.
func TestRunEndsWhileItsSubscriptionDials(t *testing.T) {
	var dials, unbounded atomic.Int32
	release := make(chan struct{})
	rdb := redis.NewClient(&redis.Options{
		ContextTimeoutEnabled: true, MaxRetries: -1,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if dials.Add(1) == 1 { // the dial of Subscribe, which has Run's context
				return nil, net.ErrClosed
			}
			if ctx.Done() == nil {
				unbounded.Add(1)
			}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, net.ErrClosed
		},
	})
	t.Cleanup(func() { _ = rdb.Close() })
	t.Cleanup(func() { close(release) })
	p := New(Config{Gateway: "g", Sockets: nobody{}, Redis: rdb, TTL: time.Minute, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	testkit.Await(t, "the subscription dials again", func() bool { return unbounded.Load() > 0 })
	cancel()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("Run has not ended while the subscription dials")
	}
}
