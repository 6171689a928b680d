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
type writer struct {
	rdb       redis.UniversalClient
	parallel  int
	goneFor   string // seconds
	metrics   *metrics
	log       *slog.Logger
	retryMin  time.Duration
	retryMax  time.Duration
	trouble   atomic.Pointer[error] // why an attempt failed; nil once the cursors were found to be true again
	callsPool sync.Pool
}

func newWriter(rdb redis.UniversalClient, cfg *Config, m *metrics) *writer {
	return &writer{
		rdb: rdb, parallel: cfg.Pipelines, metrics: m, log: cfg.Logger,
		goneFor:  strconv.FormatInt(int64(cfg.RemovalTTL/time.Second), 10),
		retryMin: cfg.RetryMin, retryMax: cfg.RetryMax,
		callsPool: sync.Pool{New: func() any { return new(calls) }},
	}
}

// write sends all of b and returns once Redis has taken it, however often that must be tried; it fails only with ctx.
// After a failure any part of b may have been written. Writing it again is harmless.
func (w *writer) write(ctx context.Context, b *batch) (applied int, err error) {
	var total atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(w.parallel)
	send := func(c *calls) {
		g.Go(func() error {
			defer w.callsPool.Put(c)
			n, err := w.send(ctx, c)
			total.Add(int64(n))
			return err
		})
	}
	c := w.calls()
	for i := range b.users {
		for next := b.users[i].first; next >= 0; {
			if next = c.addUser(b, &b.users[i], next); c.full() {
				send(c)
				c = w.calls()
			}
		}
	}
	c.endCall()
	for i := range b.channels {
		if c.addChannel(&b.channels[i]); c.full() {
			send(c)
			c = w.calls()
		}
	}
	c.endCall()
	if len(c.list) > 0 {
		send(c)
	}
	err = g.Wait()
	return int(total.Load()), err
}

// send runs one pipeline until it has succeeded as a whole.
func (w *writer) send(ctx context.Context, c *calls) (applied int, err error) {
	commands := c.commands()
	err = w.persist(ctx, "write to Redis", func(ctx context.Context) error {
		start := time.Now()
		pipe := w.rdb.Pipeline()
		cmds := make([]*redis.Cmd, len(commands))
		for i, args := range commands {
			cmds[i] = pipe.Do(ctx, args...)
		}
		_, err := pipe.Exec(ctx)
		w.metrics.pipeline.Observe(time.Since(start).Seconds())
		w.metrics.commands.Add(float64(len(commands)))
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			// Redis forgets scripts when it starts again.
			if err := w.load(ctx); err != nil {
				return err
			}
			return errLoaded
		}
		if err != nil {
			return err
		}
		applied = 0
		for _, cmd := range cmds {
			n, err := cmd.Int()
			if err != nil {
				return fmt.Errorf("answer of a script: %w", err)
			}
			applied += n
		}
		return nil
	})
	return applied, err
}

// errLoaded makes persist try again at once.
var errLoaded = errors.New("scripts were loaded")

// load gives Redis the scripts.
func (w *writer) load(ctx context.Context) error {
	for _, s := range []*redis.Script{unreadScript, channelsScript} {
		if err := s.Load(ctx, w.rdb).Err(); err != nil {
			return fmt.Errorf("load a script: %w", err)
		}
	}
	return nil
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
		case errors.Is(err, errLoaded):
			continue
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
