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

	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// Cache fills Redis from the compacted topics. Any number of processes may run one; the consumer group shares the
// partitions among them.
type Cache struct {
	cfg     Config
	metrics *metrics
	writer  *writer
	running atomic.Bool

	complete atomic.Bool

	mu      sync.Mutex
	session *session // nil between sessions
	ended   error    // why the last session ended
}

// New checks cfg. Nothing is connected to before Run.
func New(cfg Config) (*Cache, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m := newMetrics(cfg.Registerer)
	return &Cache{cfg: cfg, metrics: m, writer: newWriter(&cfg, m)}, nil
}

// Run fills Redis until ctx ends, and then returns nil. What can go wrong in between (Redis or Kafka down, a topic not
// there yet) is tried again; Ready says what it is. It must be called once.
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
	pause := c.cfg.RetryMin
	for ctx.Err() == nil {
		begun := time.Now()
		err := c.runSession(ctx, kadm.NewClient(adm))
		if ctx.Err() != nil {
			break
		}
		c.mu.Lock()
		c.ended = err
		c.mu.Unlock()
		if errors.Is(err, errReopen) {
			c.cfg.Logger.Warn("cache is opened again", "reason", err)
		} else {
			c.cfg.Logger.Error("cache session ended, trying again", "error", err)
		}
		if time.Since(begun) > 10*c.cfg.RetryMax {
			pause = c.cfg.RetryMin
		}
		sleep(ctx, pause)
		pause = min(2*pause, c.cfg.RetryMax)
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
	err = c.writer.persist(ctx, "open", func(ctx context.Context) (err error) {
		var why string
		f, why, err = openFilling(ctx, c.cfg.Redis, identity, total)
		if why != "" {
			c.metrics.fillings.WithLabelValues(why).Inc()
			c.cfg.Logger.Info("redis is filled from the start of the topics", "reason", why, "filling", f.id)
		}
		return err
	})
	if err != nil {
		return err
	}
	s := newSession(c, adm, f)
	c.mu.Lock()
	c.session, c.ended = s, nil
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.session = nil
		c.mu.Unlock()
		c.setComplete(false)
	}()
	return s.run(ctx)
}

func (c *Cache) setComplete(is bool) {
	if c.complete.Swap(is) == is {
		return
	}
	if is {
		c.metrics.complete.Set(1)
		c.cfg.Logger.Info("redis is complete")
	} else {
		c.metrics.complete.Set(0)
	}
}

// Ready reports whether Redis is complete and takes what is written, with a line for what is not as it should be. A
// process whose cache is not ready can serve all the same: readers miss, or see what was true a while ago.
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
	case !c.complete.Load():
		return false, s.describe()
	}
	return true, nil
}
