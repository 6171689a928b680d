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
)

// session is one membership of the group, with one filling of Redis. It ends when the filling does: then every
// partition is opened anew.
//
// A rebalance waits for nothing here: what is being written of a partition that moves is refused by Redis once the new
// owner has begun it, and read again by that one.
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
	batch      batch
	checked    time.Time // when all cursors were last compared
	committed  time.Time
	complained time.Time
}

// part is a partition that a session owns. session.mu guards what changes.
type part struct {
	partition
	token  string      // by which Redis tells that it is owned by this part
	loud   int64       // what comes from this offset on is published; before it, it was
	begun  int64       // what comes before this offset, the end of the log then, may have been written by another owner
	table  *table      // of the poll loop
	lost   atomic.Bool // Redis says that somebody else owns it
	stored int64       // the cursor that Redis is known to hold
	next   int64       // everything below was applied
	commit int64       // the group's offset
	end    int64       // of the log, as far as known
}

func newSession(c *Cache, adm *kadm.Client, f filling) *session {
	return &session{
		cache: c, cfg: &c.cfg, adm: adm, fill: f,
		broken: make(chan error, 1), parts: map[partition]*part{},
	}
}

// run consumes until ctx ends or the session cannot go on.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := []kgo.Opt{
		kgo.FetchMaxWait(250 * time.Millisecond),
		kgo.FetchMaxBytes(s.cfg.FetchBytes),
		kgo.FetchMaxPartitionBytes(min(s.cfg.FetchBytes, 4<<20)),
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
			return s.assign(ctx, group, o)
		}),
		kgo.OnPartitionsRevoked(s.release),
		kgo.OnPartitionsLost(s.release),
	)
	if r := s.cfg.Registerer; r != nil { // its collectors come and go with the client
		opts = append(opts, kgo.WithHooks(kprom.NewMetrics("tidemark", kprom.Subsystem("cache_kafka"), kprom.Registerer(r))))
	}
	var err error
	if s.client, err = kgo.NewClient(opts...); err != nil {
		return fmt.Errorf("client of Kafka: %w", err)
	}
	defer s.client.Close()
	defer cancel() // first: Close waits for assign
	err = s.consume(ctx)
	s.lastCommit()
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

// poll returns what there is, after CheckEvery also nothing.
func (s *session) poll(ctx context.Context) (kgo.Fetches, error) {
	wait, cancel := context.WithTimeout(ctx, s.cfg.CheckEvery)
	defer cancel()
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
		case failed == nil:
			failed = fmt.Errorf("fetch %s/%d: %w", topic, number, err)
		}
	})
	return fetches, failed
}

// apply writes what was fetched, and then moves the cursors on. It returns once Redis has all of it.
func (s *session) apply(ctx context.Context, fetches kgo.Fetches) error {
	b := &s.batch
	b.reset(fetches.NumRecords())
	var touched []*part
	var oldest time.Time
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
			switch {
			case r.Attrs.IsControl():
			case f.Topic == s.cfg.Unread:
				b.addUnread(r, p)
			default:
				b.addChannel(r, p)
			}
		}
	})
	if b.tally.records > 0 {
		if err := s.cache.writer.write(ctx, b); err != nil {
			return err
		}
		s.cache.metrics.count(b.tally)
		s.complain()
	}
	touched, err := s.kept(touched)
	if err != nil {
		return err
	}
	return s.advance(ctx, touched, oldest, &b.written)
}

// note takes down how far the records of f reach. It returns nil for a partition that was released meanwhile, whose
// new owner will read them, and if there are none.
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

// complain logs what was skipped, once a second at most.
func (s *session) complain() {
	if s.batch.lastBad != nil && time.Since(s.complained) > time.Second {
		s.complained = time.Now()
		s.cfg.Logger.Error("records were not cached; the last of them is named", "count", s.batch.tally.bad, "error", s.batch.lastBad)
	}
}

// describe says how far the filling is.
func (s *session) describe() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := int64(0)
	for _, p := range s.parts {
		behind += max(0, p.end-p.next)
	}
	return []string{fmt.Sprintf("cache: Redis is being filled: %d partitions here, %d records to go", len(s.parts), behind)}
}
