package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/retry"
)

// writer sends batches to Redis.
//
// Comparing stamps in a script inside Redis costs five to ten times as much as the writes, and
// reading them first twice as much. So the writer compares stamps here, with the values that table
// remembers. That is correct because there is no other writer: WATCH lets a transaction commit only
// if every partition that it writes to has the same owner as before the comparison. So Redis itself
// refuses a member that has lost a partition without noticing, or whose writes arrive late.
type writer struct {
	rdb         *redis.Client
	parallel    int
	goneFor     string // in seconds
	keepThreads bool   // Config.ThreadsAlways
	format      format.Format
	metrics     *metrics
	log         *slog.Logger
	retryMin    time.Duration
	retryMax    time.Duration
	plant       func(where string)
	marks       string                // the key of its marks
	batches     int64                 // how many batches it has written
	trouble     atomic.Pointer[error] // why an attempt failed; nil once the cursors were found in Redis again
	chunks      sync.Pool
}

func newWriter(cfg *Config, m *metrics) *writer {
	return &writer{
		rdb: cfg.Redis, parallel: cfg.Pipelines, metrics: m, log: cfg.Logger,
		keepThreads: cfg.ThreadsAlways, format: cfg.format,
		goneFor:  strconv.FormatInt(int64(cfg.RemovalTTL/time.Second), 10),
		retryMin: cfg.RetryMin, retryMax: cfg.RetryMax, plant: cfg.plant,
		marks:  prefixWritten + rand.Text(),
		chunks: sync.Pool{New: func() any { return new(chunk) }},
	}
}

// write writes b to Redis. It retries until every value is applied, stale or skipped, and fails
// only when ctx is done. Any chunk of b may have been written by then; writing it again is
// harmless.
func (w *writer) write(ctx context.Context, b *batch) error {
	b.settle()
	w.batches++
	b.written.key, b.written.batch = w.marks, w.batches
	var mu sync.Mutex // guards the slots
	chunks := 0
	g, ctx := guard.WithContext(ctx)
	g.SetLimit(w.parallel)
	var c *chunk
	current := func() *chunk {
		if c == nil {
			c = w.chunks.Get().(*chunk)
			c.reset(b)
			c.keepThreads, c.format = w.keepThreads, w.format
			c.slot = chunks
			chunks++
		}
		return c
	}
	send := func() {
		full := c
		c = nil
		g.Go("the writing to Redis", func() error {
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
		if i%ahead == 0 {
			b.warmDeltas(b.users[i:min(i+ahead, len(b.users))])
		}
		for next := b.users[i].first; next >= 0; {
			if next = current().addUser(&b.users[i], next); c.full() {
				send()
			}
		}
	}
	for i := range b.channels {
		if current().addChannel(int32(i)); c.full() {
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
			// A partition has another owner now. The next attempt finds out which one.
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
	done := false
	defer func() {
		if !done { // a panic, at any point
			abandon(conn)
		}
		_ = conn.Close() // returns it to the pool, which cannot fail
	}()
	err := w.attempt(ctx, conn, c)
	done = true
	return err
}

// attempt runs transact on conn and leaves conn without a transaction and without watched keys.
func (w *writer) attempt(ctx context.Context, conn *redis.Conn, c *chunk) error {
	answers, err := w.run(ctx, conn.Pipeline(), c.reads())
	w.plant("write")
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
	if err = c.takeAudience(answers); err != nil {
		return err
	}
	if publications := c.publishes(); len(publications) > 0 {
		_, err = w.run(ctx, conn.Pipeline(), publications)
	}
	return err
}

// unwatch clears the watched keys of a connection before it returns to the pool.
func unwatch(conn *redis.Conn) { last(conn, "unwatch") }

// abandon clears a connection after a failure. A server that accepts MULTI and refuses EXEC leaves
// the connection inside the transaction, where every later use of it would fail.
func abandon(conn *redis.Conn) { last(conn, "discard", "unwatch") } // discard is an error where there is no transaction

// last sends commands without arguments before a connection returns to the pool. A connection that
// cannot execute them is broken, and the pool drops it. If it were still watching a key, the next
// transaction on it would fail once and be repeated.
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

// persist repeats do until it succeeds, with growing pauses. It fails only when ctx is done. Its
// error stays in trouble until a session has found its cursors in Redis.
func (w *writer) persist(ctx context.Context, what string, do func(context.Context) error) error {
	pause, since := retry.Backoff{Min: w.retryMin, Max: w.retryMax}, time.Time{}
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
		if !pause.Wait(ctx) {
			return ctx.Err()
		}
	}
}
