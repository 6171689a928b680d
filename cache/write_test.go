package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/entry"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// cutter makes connections that break after a number of written bytes, a given number of times.
type cutter struct {
	after int64 // bytes
	cuts  atomic.Int64
}

func (c *cutter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn, cutter: c, left: c.after}, nil
}

type cutConn struct {
	net.Conn
	cutter *cutter
	left   int64
}

func (c *cutConn) Write(b []byte) (int, error) {
	if int64(len(b)) <= c.left || c.cutter.cuts.Load() <= 0 {
		c.left -= int64(len(b))
		return c.Conn.Write(b)
	}
	c.cutter.cuts.Add(-1)
	c.left = max(0, c.left)
	n, _ := c.Conn.Write(b[:c.left]) // the rest never leaves
	_ = c.Conn.(*net.TCPConn).CloseWrite()
	time.Sleep(time.Millisecond) // Redis may have time to execute the commands
	_ = c.Close()
	return n, errors.New("cut")
}

// A connection that breaks amid a pipeline leaves a part applied. The retry applies the rest, and
// nothing twice.
func TestHalfAppliedPipeline(t *testing.T) {
	redises(t, func(t *testing.T, rdb *redis.Client) {
		rng := seeded(t)
		for _, after := range []int64{1, 2_000, 20_000, 60_000, 100_000} {
			rdb.FlushAll(t.Context())
			o := *rdb.Options()
			c := &cutter{after: after}
			o.Dialer = c.dial
			o.MaxRetries = 3 // the default: a transaction must not continue on another connection
			broken := redis.NewClient(&o)
			defer broken.Close()
			w := own(t, broken)
			w.parallel = 1
			c.cuts.Store(3)
			h := newHistory()
			w.send(t, w.join(new(batch), h.grow(rng, 4000, 100, 30)...))
			if c.cuts.Load() == 3 {
				t.Errorf("no connection was cut after %d bytes: the test shows nothing", after)
			}
			h.check(t, rdb)
		}
	})
}

// Commands that an owner had sent before it lost its partition may reach Redis after those of the
// new owner: a paused Redis executes both, in any order.
func TestLateWriterIsHarmless(t *testing.T) {
	server := testkit.Redis(t)
	rdb := redisClient(t, server.URL)
	old, now := own(t, redisClient(t, server.URL)), own(t, redisClient(t, server.URL))
	old.claim(t, rdb)
	old.apply(t, small("u", "c", 1, 0))
	send := func(w *rig, b *batch) chan error {
		done := make(chan error, 1)
		go func() { done <- w.write(t.Context(), b) }()
		return done
	}
	for m := int64(10); m < 30; m++ {
		former := old.join(new(batch), unreadRecord(reading(small("u", "c", m, 1), "m8", 8, t0)), unreadRecord(small("u", "d", m, 1)))
		latter := now.join(new(batch), unreadRecord(reading(small("u", "c", m, 2), "m9", 9, t0)), unreadRecord(left("u", "d", m, 2)))
		server.Pause()
		one := send(old, former)
		two := send(now, latter)
		server.Continue()
		now.claim(t, rdb) // at any moment of their work
		for _, done := range []chan error{one, two} {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if latter.tally.skipped > 0 { // the claim came after its query, so it queries again
			now.send(t, now.join(latter, unreadRecord(reading(small("u", "c", m, 2), "m9", 9, t0)), unreadRecord(left("u", "d", m, 2))))
		}
		equalDump(t, rdb, map[string]string{
			"inbox:u c":                      string(entry.AppendValue(nil, reading(small("u", "c", m, 2), "m9", 9, t0))),
			"read-pointer:u:c last_read_id":  "m9",
			"read-pointer:u:c last_read_at":  "2026-01-02T03:04:05.678Z",
			"read-pointer:u:c last_read_seq": "9",
		})
		for _, w := range []*rig{old, now} { // as with a new ownership
			w.part = &part{partition: w.part.partition, token: rand.Text(), table: newTable(100)}
		}
		old.claim(t, rdb)
	}
}

// While Redis refuses, the writer waits and reports the reason; it ends with its context.
func TestWriteEndsWithItsContext(t *testing.T) {
	mini := testkit.Miniredis(t)
	w := own(t, redisClient(t, "redis://"+mini.Addr()))
	mini.SetError("LOADING Redis is loading the dataset in memory")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	b := w.join(new(batch), unreadRecord(small("u", "c", 1, 0)))
	go func() { done <- w.write(ctx, b) }()
	eventually(t, "the trouble is noted", func() bool { return w.trouble.Load() != nil })
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	mini.SetError("")
	if n := w.apply(t, small("u", "c", 1, 0)); n != 1 {
		t.Errorf("afterwards: applied %d, want 1", n)
	}
}

// TestRefusedEndOfATransaction: a server accepts MULTI and then refuses EXEC and every later
// command, which leaves the connection inside the transaction. Later transactions do not use that
// connection.
func TestRefusedEndOfATransaction(t *testing.T) {
	mini := testkit.Miniredis(t)
	rdb := redisClient(t, "redis://"+mini.Addr(), func(o *redis.Options) { o.PoolSize = 1 })
	r := own(t, rdb)
	var refusals atomic.Int64
	refusals.Store(4) // EXEC, and the commands for a connection that is given up
	begun := false    // only the server's goroutine uses it
	mini.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
		begun = begun || command == "EXEC"
		if !begun || refusals.Add(-1) < 0 {
			return false
		}
		p.WriteError("LOADING Redis is loading the dataset in memory")
		return true
	})
	if n := r.apply(t, small("u", "c", 5, 0)); n != 1 {
		t.Errorf("%d values were applied, want 1", n)
	}
	if refusals.Load() >= 0 {
		t.Error("nothing was refused")
	}
}
