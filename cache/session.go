package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/plugin/kprom"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/loglimit"
)

// session is one membership of the group, with one filling of Redis. It ends when the filling does:
// then every partition is opened anew.
//
// A rebalance never waits for a session. Once the new owner of a partition has begun it, Redis
// refuses the writes that the old owner still has under way, and the new owner reads those records
// again.
type session struct {
	cache  *Cache
	cfg    *Config
	adm    *kadm.Client
	fill   filling
	client *kgo.Client
	broken chan error // why the session cannot go on, from the group's goroutine

	mu    sync.Mutex
	parts map[partition]*part // owned now

	// Of the poll loop alone.
	batch     batch
	checked   time.Time // when all cursors were last compared
	committed time.Time
	bad       loglimit.Limiter // records that were not cached and are not logged yet
	lastBad   error
}

// part is a partition that a session owns. session.mu guards what changes.
type part struct {
	partition
	token  string      // names this ownership in Redis
	loud   int64       // records from this offset on are published; older ones already were
	begun  int64       // the end of the log when this ownership began: another owner may have written records before it
	table  *table      // of the poll loop
	lost   atomic.Bool // Redis names another owner
	stored int64       // the cursor that Redis is known to hold
	next   int64       // everything below was applied
	commit int64       // the group's offset
	end    int64       // of the log, as far as known
}

func newSession(c *Cache, adm *kadm.Client, f filling) *session {
	return &session{
		cache: c, cfg: &c.cfg, adm: adm, fill: f,
		broken: make(chan error, 1), parts: map[partition]*part{}, batch: batch{format: c.cfg.format},
	}
}

// run consumes until ctx ends or the session cannot go on.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := []kgo.Opt{
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.FetchMaxBytes(s.cfg.FetchBytes),
		kgo.FetchMaxPartitionBytes(min(s.cfg.FetchBytes, max(s.cfg.FetchBytes/4, 4<<20))),
		kgo.SessionTimeout(s.cfg.SessionTimeout),
		kgo.HeartbeatInterval(min(time.Second, s.cfg.SessionTimeout/5)),
	}
	opts = append(opts, s.cfg.ClientOptions...)
	opts = append(opts,
		kgo.SeedBrokers(s.cfg.Brokers...),
		kgo.ClientID("tidemark-cache"),
		kgo.DisableClientMetrics(),
		kgo.ConsumerGroup(s.cfg.Group),
		kgo.ConsumeTopics(s.cfg.Unread, s.cfg.Channels),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.DisableAutoCommit(),
		kgo.KeepControlRecords(), // the last record of a log may be one
		kgo.AdjustFetchOffsetsFn(func(group context.Context, o map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			var to map[string]map[int32]kgo.Offset
			err := guard.Err("taking partitions over", func() (err error) {
				to, err = s.assign(ctx, group, o)
				return err
			})
			return to, err
		}),
		kgo.OnPartitionsRevoked(s.letGo),
		kgo.OnPartitionsLost(s.letGo),
	)
	if r := s.cfg.Registerer; r != nil { // its collectors come and go with the client
		opts = append(opts, kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem("cache_kafka"), kprom.Registerer(r))))
	}
	var err error
	if s.client, err = kgo.NewClient(opts...); err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer func() {
		cancel() // first: leaving waits for assign
		s.lastCommit()
		if err := kafkaadmin.Leave(s.client, kafkaadmin.LeavePatience); err != nil {
			s.cfg.Logger.Warn("cache stops", "group", s.cfg.Group, "error", err)
		}
	}()
	guard.Go("watching the ends of the logs", func(e *guard.Error) { s.breaks(e) }, func() { s.watchEnds(ctx) })
	err = s.consume(ctx)
	s.complain(s.bad.Rest())
	return err
}

// consume is the loop: poll, apply, advance, commit.
func (s *session) consume(ctx context.Context) error {
	for {
		fetches, err := s.poll(ctx)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, fetches); err != nil {
			return err
		}
		s.commit(ctx)
	}
}

// poll returns the records that were fetched, or none after CheckEvery.
func (s *session) poll(ctx context.Context) (kgo.Fetches, error) {
	wait, cancel := context.WithTimeout(ctx, s.cfg.CheckEvery)
	defer cancel()
	s.cfg.plant("poll")
	fetches := s.client.PollRecords(wait, s.cfg.BatchRecords)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	select {
	case err := <-s.broken:
		return nil, err
	default:
	}
	var failed error
	fetches.EachError(func(topic string, number int32, err error) {
		var group *kgo.ErrGroupSession
		switch {
		case errors.Is(err, context.DeadlineExceeded) && wait.Err() != nil: // nothing came in time
		case errors.As(err, &group): // the client joins again by itself
			s.cfg.Logger.Warn("cache lost its group, joining again", "group", s.cfg.Group, "error", err)
		case inflate.Deferred(err): // it is fetched again
		case failed == nil:
			failed = fmt.Errorf("fetch %s/%d: %w", topic, number, inflate.InWords(err, inflate.Limit(s.client)))
		}
	})
	return fetches, failed
}

// apply writes the fetched records to Redis and then moves the cursors. It returns once Redis has
// all of them.
func (s *session) apply(ctx context.Context, fetches kgo.Fetches) error {
	b := &s.batch
	b.reset(fetches.NumRecords())
	touched, oldest, err := s.join(fetches)
	if err != nil {
		return err
	}
	if b.tally.records > 0 {
		if err := s.cache.writer.write(ctx, b); err != nil {
			return err
		}
		s.cache.metrics.count(b.tally)
		if b.lastBad != nil {
			s.bad.Add(b.tally.bad)
			s.lastBad = b.lastBad
		}
	}
	s.complain(s.bad.Due(time.Now()))
	touched, err = s.kept(touched)
	if err != nil {
		return err
	}
	return s.advance(ctx, touched, oldest, &b.written)
}

// join adds the fetched records to the batch. It returns their partitions and the time of the
// oldest record. A panic at a record ends the session; see package blame.
func (s *session) join(fetches kgo.Fetches) (touched []*part, oldest time.Time, err error) {
	b := &s.batch
	var last *kgo.Record
	err = guard.Err("the taking of a record", func() error {
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			p := s.note(&f)
			if p == nil {
				return
			}
			touched = append(touched, p)
			if at := f.Records[0].Timestamp; oldest.IsZero() || at.Before(oldest) {
				oldest = at
			}
			for _, r := range f.Records {
				last = r
				switch {
				case r.Attrs.IsControl():
				case s.cache.blamed.Skips(r):
					b.tally.records++
					b.bad(r, errPanics)
				case f.Topic == s.cfg.Unread:
					if s.cfg.planted != nil {
						s.cfg.planted("apply " + string(r.Key))
					}
					b.addUnread(r, p)
				default:
					b.addChannel(r, p)
				}
			}
		})
		return nil
	})
	if guard.Of(err) != nil && last != nil {
		s.cache.blamed.Add(last)
		err = fmt.Errorf("%s/%d/%d: %w", last.Topic, last.Partition, last.Offset, err)
	}
	return touched, oldest, err
}

// note remembers how far the records of f reach. It returns nil if f has no records, or if its
// partition was released meanwhile: the new owner reads them.
func (s *session) note(f *kgo.FetchTopicPartition) *part {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[partition{f.Topic, f.Partition}]
	if p == nil || len(f.Records) == 0 {
		return nil
	}
	p.table.limit = max(1, s.cfg.KnownPairs/len(s.parts))
	p.next = f.Records[len(f.Records)-1].Offset + 1
	p.end = max(p.end, f.HighWatermark, p.next)
	return p
}

// complain logs that count records were skipped.
func (s *session) complain(count int) {
	if count > 0 {
		s.cfg.Logger.Error("records were not cached; the last of them is named", "count", count, "error", s.lastBad)
	}
}

// describe returns lines about the progress of the filling.
func (s *session) describe() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := int64(0)
	for _, p := range s.parts {
		behind += max(0, p.end-p.next)
	}
	return []string{fmt.Sprintf("cache: Redis is being filled: %d partitions here, %d records to go", len(s.parts), behind)}
}
