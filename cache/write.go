package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// writer sends batches to Redis.
//
// Comparing stamps inside Redis, in a script, costs five to ten times the writing; asking for them first, twice. So they
// are compared here, with what is known of Redis (table), and that is true because nobody else writes: each transaction
// holds only if, at its end, each partition it writes to still has the owner for whom the table was made, as it had before
// anything was compared. WATCH makes Redis see to that. A member that lost a partition and does not know it, or whose last words
// reach Redis late, is refused by Redis itself.
type writer struct {
	rdb      *redis.Client
	parallel int
	goneFor  string // seconds
	metrics  *metrics
	log      *slog.Logger
	retryMin time.Duration
	retryMax time.Duration
	marks    string                // the key of its marks
	batches  int64                 // that it has written
	trouble  atomic.Pointer[error] // why an attempt failed; nil once the cursors were found to be true again
	chunks   sync.Pool
}

func newWriter(cfg *Config, m *metrics) *writer {
	return &writer{
		rdb: cfg.Redis, parallel: cfg.Pipelines, metrics: m, log: cfg.Logger,
		goneFor:  strconv.FormatInt(int64(cfg.RemovalTTL/time.Second), 10),
		retryMin: cfg.RetryMin, retryMax: cfg.RetryMax,
		marks:  prefixWritten + random(),
		chunks: sync.Pool{New: func() any { return new(chunk) }},
	}
}

// write brings b into Redis and returns once every value is applied, stale or skipped, however often that must be tried;
// it fails only with ctx. After a failure any chunk of b may have been written. Writing it again is harmless.
func (w *writer) write(ctx context.Context, b *batch) error {
	b.settle()
	w.batches++
	b.written.key, b.written.batch = w.marks, w.batches
	var mu sync.Mutex // guards the slots
	chunks := 0
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(w.parallel)
	var c *chunk
	room := func() *chunk {
		if c == nil {
			c = w.chunks.Get().(*chunk)
			c.reset(b)
			c.slot = chunks
			chunks++
		}
		return c
	}
	send := func() {
		full := c
		c = nil
		g.Go(func() error {
			defer w.chunks.Put(full)
			err := w.send(ctx, full)
			if full.marked {
				mu.Lock()
				b.written.slots = append(b.written.slots, full.slot)
				mu.Unlock()
			}
			return err
		})
	}
	for i := range b.users {
		for next := b.users[i].first; next >= 0; {
			if next = room().addUser(&b.users[i], next); c.full() {
				send()
			}
		}
	}
	for i := range b.channels {
		if room().addChannel(int32(i)); c.full() {
			send()
		}
	}
	if c != nil && c.values > 0 {
		send()
	}
	if err := g.Wait(); err != nil {
		return err
	}
	b.learn()
	return nil
}

// send writes one chunk.
func (w *writer) send(ctx context.Context, c *chunk) error {
	err := w.persist(ctx, "write to Redis", func(ctx context.Context) error {
		for {
			start := time.Now()
			err := w.transact(ctx, c)
			w.metrics.pipeline.Observe(time.Since(start).Seconds())
			if !errors.Is(err, redis.TxFailedErr) {
				return err
			}
			// A partition got another owner meanwhile, perhaps none of these. Then it says so now.
		}
	})
	if err == nil {
		c.done()
	}
	return err
}

// transact runs one attempt, on a connection of its own.
func (w *writer) transact(ctx context.Context, c *chunk) error {
	conn := w.rdb.Conn()
	defer func() { _ = conn.Close() }() // gives it back to the pool, which cannot fail
	answers, err := w.run(ctx, conn.Pipeline(), c.reads())
	if err == nil {
		err = c.take(answers)
	}
	if err != nil {
		abandon(conn)
		return err
	}
	writes := c.writes(w.goneFor)
	if len(writes) == 0 {
		unwatch(conn)
		return nil
	}
	c.tried = true
	answers, err = w.run(ctx, conn.TxPipeline(), writes)
	if errors.Is(err, redis.TxFailedErr) {
		return err // nothing was written, and nothing is watched any more
	}
	c.marked = true
	if err != nil {
		abandon(conn)
		return err
	}
	if err = c.hear(answers); err != nil {
		return err
	}
	if said := c.publishes(); len(said) > 0 {
		_, err = w.run(ctx, conn.Pipeline(), said)
	}
	return err
}

// unwatch lets go of a connection that goes back to the pool.
func unwatch(conn *redis.Conn) { last(conn, "unwatch") }

// abandon lets go of one on which something failed. A server that takes the beginning of a transaction and refuses its end
// leaves the connection in the middle of it: whoever got it next would be refused for ever.
func abandon(conn *redis.Conn) { last(conn, "discard", "unwatch") } // discard is an error where there is no transaction

// last says the last words on a connection. One that cannot be told is broken, and does not go back; were it to watch
// something still, the next transaction on it would fail once, and be repeated.
func last(conn *redis.Conn, words ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	pipe := conn.Pipeline()
	for _, word := range words {
		pipe.Do(ctx, word)
	}
	_, _ = pipe.Exec(ctx)
}

func (w *writer) run(ctx context.Context, pipe redis.Pipeliner, list [][]any) ([]*redis.Cmd, error) {
	cmds := make([]*redis.Cmd, len(list))
	for i, args := range list {
		cmds[i] = pipe.Do(ctx, args...)
	}
	_, err := pipe.Exec(ctx)
	w.metrics.commands.Add(float64(len(list)))
	return cmds, err
}

// persist repeats what until it succeeds, with pauses that grow. It fails only with ctx. The trouble that it notes
// stays until a session has seen, by its cursors, that Redis still holds what it held.
func (w *writer) persist(ctx context.Context, what string, do func(context.Context) error) error {
	pause, since := w.retryMin, time.Time{}
	for {
		err := do(ctx)
		switch {
		case err == nil:
			if !since.IsZero() {
				w.log.Info("redis answers again", "what", what, "after", time.Since(since))
			}
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		}
		w.metrics.redisErrors.Inc()
		failed := fmt.Errorf("%s: %w", what, err)
		w.trouble.Store(&failed)
		if since.IsZero() {
			since = time.Now()
			w.log.Warn("redis failed, trying until it answers", "what", what, "error", err)
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
		pause = min(2*pause, w.retryMax)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
