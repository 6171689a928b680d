package sqlsink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/retry"
	"github.com/tidemark/tidemark/internal/sink"
)

// Sink writes the output topics into the schema tidemark of a database. Any number of processes may
// run one; the consumer group shares the partitions among them.
type Sink struct {
	cfg      Config
	metrics  *metrics
	db       *database
	running  atomic.Bool
	complete sink.Completeness

	mu      sync.Mutex
	session *session // nil between sessions
	ended   error    // why the last session ended
}

// New checks cfg and fills in its defaults. Only Run connects.
func New(cfg Config) (*Sink, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Sink{cfg: cfg, metrics: newMetrics(cfg.Registerer)}
	s.db = newDatabase(&s.cfg, s.metrics)
	s.complete = sink.Completeness{Gauge: s.metrics.complete, Log: cfg.Logger, Text: "the database is complete"}
	return s, nil
}

// Run writes until ctx ends, and then returns nil. It retries every failure in between (the
// database or Kafka is down, a topic does not exist yet), and Ready names the failure. Call Run
// once.
func (s *Sink) Run(ctx context.Context) error {
	if s.running.Swap(true) {
		return errors.New("sqlsink: Run was called twice")
	}
	defer s.db.close()
	adm, err := kgo.NewClient(append(slices.Clone(s.cfg.ClientOptions),
		kgo.SeedBrokers(s.cfg.Brokers...), kgo.ClientID("tidemark-sql-admin"), kgo.DisableClientMetrics())...)
	if err != nil {
		return fmt.Errorf("sqlsink: Kafka client: %w", err)
	}
	defer adm.Close()
	pause := retry.Backoff{Min: s.cfg.RetryMin, Max: s.cfg.RetryMax}
	for ctx.Err() == nil {
		begun := time.Now()
		err := guard.Err("the SQL sink's session", func() error { return s.runSession(ctx, kadm.NewClient(adm)) })
		if ctx.Err() != nil {
			break
		}
		s.mu.Lock()
		s.ended = err
		s.mu.Unlock()
		if errors.Is(err, errReopen) {
			s.cfg.Logger.Warn("the SQL sink is opened again", "reason", err)
		} else {
			s.cfg.Logger.Error("session of the SQL sink ended, trying again", append(guard.Stack(err), "error", err)...)
		}
		if time.Since(begun) > 10*s.cfg.RetryMax {
			pause.Reset()
		}
		pause.Wait(ctx)
	}
	return nil
}

// runSession opens the filling and consumes until something ends it.
func (s *Sink) runSession(ctx context.Context, adm *kadm.Client) error {
	topics := s.cfg.topics()
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
	err = s.db.persist(ctx, "open the schema tidemark", func(ctx context.Context, tx pgx.Tx) (err error) {
		var why string
		f, why, err = openFilling(ctx, tx, rand.Text(), identity, total)
		if err == nil && why != "" {
			s.metrics.fillings.WithLabelValues(why).Inc()
			s.cfg.Logger.Info("the database is filled from the start of the topics", "reason", why, "database", s.cfg.Database.String())
		}
		return err
	})
	if err != nil {
		return err
	}
	n := newSession(s, adm, f)
	s.complete.Set(f.complete)
	s.mu.Lock()
	s.session, s.ended = n, nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.session = nil
		s.mu.Unlock()
		s.complete.Set(false)
	}()
	return n.run(ctx)
}

// Ready reports whether the database is complete and accepts writes, with a line for each problem.
// Other roles of a node do not depend on it.
func (s *Sink) Ready() (bool, []string) {
	s.mu.Lock()
	n, ended := s.session, s.ended
	s.mu.Unlock()
	if p := s.db.trouble.Load(); p != nil {
		return false, []string{"sql: " + (*p).Error()}
	}
	switch {
	case ended != nil:
		return false, []string{"sql: " + ended.Error()}
	case n == nil:
		return false, []string{"sql: opening"}
	case !s.complete.Is():
		return false, n.describe()
	}
	return true, nil
}
