package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/blame"
	"github.com/tidemark/tidemark/cache/internal/library"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/retry"
	"github.com/tidemark/tidemark/internal/sink"
)

// Cache fills Redis from the compacted topics. Any number of processes may run one; the consumer
// group shares the partitions among them.
type Cache struct {
	cfg     Config
	metrics *metrics
	writer  *writer
	running atomic.Bool

	complete sink.Completeness
	opened   bool          // an earlier filling was opened
	blamed   blame.Records // of the current session

	mu      sync.Mutex
	session *session // nil between sessions
	ended   error    // why the last session ended
}

// New checks cfg and fills in its defaults. It connects to nothing; Run does.
func New(cfg Config) (*Cache, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := newMetrics(cfg.Registerer)
	return &Cache{
		cfg: cfg, metrics: m, writer: newWriter(&cfg, m), blamed: blame.Records{},
		complete: sink.Completeness{Gauge: m.complete, Log: cfg.Logger, Text: "redis is complete"},
	}, nil
}

// Run fills Redis until ctx ends, and then returns nil. It retries every failure in between (Redis
// or Kafka is down, a topic does not exist yet), and Ready names the failure. Call Run once.
func (c *Cache) Run(ctx context.Context) error {
	if c.running.Swap(true) {
		return errors.New("cache: Run was called twice")
	}
	adm, err := kgo.NewClient(append(slices.Clone(c.cfg.ClientOptions),
		kgo.SeedBrokers(c.cfg.Brokers...), kgo.ClientID("tidemark-cache-admin"), kgo.DisableClientMetrics())...)
	if err != nil {
		return fmt.Errorf("cache: Kafka client: %w", err)
	}
	defer adm.Close()
	pause := retry.Backoff{Min: c.cfg.RetryMin, Max: c.cfg.RetryMax}
	for ctx.Err() == nil {
		begun := time.Now()
		err := guard.Err("the cache's session", func() error { return c.runSession(ctx, kadm.NewClient(adm)) })
		if ctx.Err() != nil {
			break
		}
		c.mu.Lock()
		c.ended = err
		c.mu.Unlock()
		if errors.Is(err, errReopen) {
			c.cfg.Logger.Warn("cache is opened again", "reason", err)
		} else {
			c.cfg.Logger.Error("cache session ended, trying again", append(guard.Stack(err), "error", err)...)
		}
		if time.Since(begun) > 10*c.cfg.RetryMax {
			pause.Reset()
		}
		pause.Wait(ctx)
	}
	return nil
}

// runSession opens the cursors and consumes until something ends it.
func (c *Cache) runSession(ctx context.Context, adm *kadm.Client) error {
	topics := []string{c.cfg.Unread, c.cfg.Channels}
	_, ids, counts, err := kafkaadmin.Identities(ctx, adm, topics)
	if err != nil {
		return err
	}
	identity, total := "", 0
	for _, t := range topics {
		identity += fmt.Sprintf("/%s=%x:%d", t, ids[t], counts[t])
		total += int(counts[t])
	}
	var f filling
	var clearing bool
	err = c.writer.persist(ctx, "open", func(ctx context.Context) (err error) {
		var why string
		f, why, clearing, err = openFilling(ctx, c.cfg.Redis, c.cfg.format, identity, total)
		if why != "" {
			c.metrics.fillings.WithLabelValues(why).Inc()
			c.cfg.Logger.Info("redis is filled from the start of the topics", "reason", why, "filling", f.id)
			c.contested(why)
		}
		if err != nil {
			return err
		}
		return tellListing(ctx, c.cfg.Redis, c.cfg.ThreadsAlways)
	})
	if err != nil {
		return err
	}
	c.loadFunctions(ctx)
	if clearing {
		removed, err := f.clear(ctx, c.writer.persist)
		if err != nil {
			return err
		}
		c.cfg.Logger.Info("keys of another format are removed from Redis", "keys", removed)
	}
	c.cfg.plant("fill")
	s := newSession(c, adm, f)
	c.mu.Lock()
	c.session, c.ended = s, nil
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.session = nil
		c.mu.Unlock()
		c.complete.Set(false)
	}()
	return s.run(ctx)
}

// contested logs that another member fills Redis with another format. All members need the same
// one.
func (c *Cache) contested(why string) {
	if why == "format" && c.opened {
		c.cfg.Logger.Warn("another member fills Redis with other --redis-values or --redis-keys, or is of another version: "+
			"Redis is not complete until all members are alike", "values", c.cfg.format.Values(), "keys", c.cfg.format.Keys())
	}
	c.opened = true
}

// loadFunctions loads the function library that reads packed values. The values do not depend on
// it, so a Redis that refuses the library only causes a log line.
func (c *Cache) loadFunctions(ctx context.Context) {
	if !c.cfg.format.Packed {
		return
	}
	done, err := library.Load(ctx, c.cfg.Redis)
	switch {
	case err != nil:
		c.cfg.Logger.Warn("redis does not have the function "+library.Function+": read the packed values with package cache, or load the library in docs/redis.md", "error", err)
	case done != "":
		c.cfg.Logger.Info("redis has the function "+library.Function, "library", done)
	}
}

// Ready reports whether Redis is complete and accepts writes, with a line for each problem. A
// process whose cache is not ready can still serve: readers get misses or slightly old values.
func (c *Cache) Ready() (bool, []string) {
	c.mu.Lock()
	s, ended := c.session, c.ended
	c.mu.Unlock()
	if p := c.writer.trouble.Load(); p != nil {
		return false, []string{"cache: " + (*p).Error()}
	}
	switch {
	case ended != nil:
		return false, []string{"cache: " + ended.Error()}
	case s == nil:
		return false, []string{"cache: opening"}
	case !c.complete.Is():
		return false, s.describe()
	}
	return true, nil
}
