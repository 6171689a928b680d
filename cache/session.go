package cache

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/loglimit"
	"github.com/tidemark/tidemark/internal/sink"
	"github.com/tidemark/tidemark/internal/trace"
)

// session is one membership of the group, with one filling of Redis. It ends with the filling, and
// every partition is then opened again.
//
// A rebalance never waits for a session. Once the new owner of a partition has begun it, Redis
// refuses pending writes of the old owner, and the new owner reads those records again.
type session struct {
	cache  *Cache
	cfg    *Config
	logs   sink.Logs
	fill   filling
	client *kgo.Client
	broken chan error // why the session must end, from the group's goroutine

	mu    sync.Mutex
	parts sink.Owned[*part] // owned now

	// Used by the poll loop only.
	batch   batch
	checked time.Time // when all cursors were last compared
	commits sink.Committer
	bad     loglimit.Lines[error] // skipped records that are not logged yet
}

// part is a partition that a session owns. session.mu guards Progress.
type part struct {
	partition
	sink.Progress
	token       string      // names this ownership in Redis
	publishFrom int64       // records from this offset on are published; older ones already were
	begun       int64       // the end of the log when this ownership began: another owner may have written earlier records
	table       *table      // used by the poll loop only
	lost        atomic.Bool // Redis names another owner
}

func newSession(c *Cache, adm *kadm.Client, f filling) *session {
	s := &session{
		cache: c, cfg: &c.cfg, fill: f,
		broken: make(chan error, 1), parts: sink.Owned[*part]{}, batch: batch{format: c.cfg.format},
	}
	s.logs = sink.Logs{Admin: adm, Topics: []string{c.cfg.Unread, c.cfg.Channels}, RetryMin: c.cfg.RetryMin, RetryMax: c.cfg.RetryMax, Logger: c.cfg.Logger}
	s.commits = sink.Committer{Every: c.cfg.CommitEvery, Behind: s.uncommitted}
	return s
}

// group returns the configuration of the session's membership.
func (s *session) group() sink.Group {
	return sink.Group{
		Brokers: s.cfg.Brokers, Name: s.cfg.Group, ClientID: "tidemark-cache", Subsystem: "cache_kafka", Topics: s.logs.Topics,
		SessionTimeout: s.cfg.SessionTimeout, FetchBytes: s.cfg.FetchBytes, PartitionBytes: min(s.cfg.FetchBytes, max(s.cfg.FetchBytes/4, 4<<20)),
		Options: s.cfg.ClientOptions, Registerer: s.cfg.Registerer, Logger: s.cfg.Logger,
		Assign: s.assign, LetGo: s.release, Breaks: s.breaks,
	}
}

// run consumes until ctx ends or the session cannot go on.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group := s.group()
	client, err := group.Client(ctx)
	if err != nil {
		return err
	}
	s.client = client
	defer func() {
		cancel() // first: leaving waits for assign
		s.commits.Last(s.client, func(err *guard.Error) { s.cfg.Logger.Error("cache stops", "error", err) })
		if err := kafkaadmin.Leave(s.client, kafkaadmin.LeavePatience); err != nil {
			s.cfg.Logger.Warn("cache stops", "group", s.cfg.Group, "error", err)
		}
	}()
	guard.Go("watching the ends of the logs", func(e *guard.Error) { s.breaks(e) }, func() { s.logs.WatchEnds(ctx, s.cfg.CommitEvery, s.end) })
	err = s.consume(ctx, &group)
	s.bad.Rest(s.logSkipped)
	return err
}

// consume is the loop: poll, apply, advance, commit.
func (s *session) consume(ctx context.Context, group *sink.Group) error {
	for {
		fetches, err := s.poll(ctx, group)
		if err != nil {
			return err
		}
		if err := s.apply(ctx, fetches); err != nil {
			return err
		}
		s.commits.Commit(ctx, s.client)
	}
}

// poll returns the fetched records, or none after CheckEvery.
func (s *session) poll(ctx context.Context, group *sink.Group) (kgo.Fetches, error) {
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
	return fetches, group.Failure(wait, s.client, fetches)
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
		if err := s.write(ctx, fetches); err != nil {
			return err
		}
		s.cache.metrics.count(b.tally)
		if b.lastBad != nil {
			s.bad.Add(b.tally.bad, b.lastBad)
		}
	}
	s.bad.Due(time.Now(), s.logSkipped)
	touched, err = s.kept(touched)
	if err != nil {
		return err
	}
	return s.advance(ctx, touched, oldest, &b.written)
}

// write writes the batch, which the fetched records became.
func (s *session) write(ctx context.Context, fetches kgo.Fetches) error {
	if s.cfg.Trace == nil {
		return s.cache.writer.write(ctx, &s.batch)
	}
	spans := trace.Records(s.cfg.Trace, "write to Redis", fetches)
	err := s.cache.writer.write(ctx, &s.batch)
	spans.End(err)
	return err
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
			for i, r := range f.Records {
				last = r
				if i%ahead == 0 && f.Topic == s.cfg.Unread {
					b.warm(f.Records[i:min(i+ahead, len(f.Records))])
				}
				switch {
				case r.Attrs.IsControl():
				case s.cache.blamed.Skips(r):
					b.tally.records++
					b.bad(r, sink.ErrPanics)
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
	p := s.parts[partition{Topic: f.Topic, Number: f.Partition}]
	if p == nil || len(f.Records) == 0 {
		return nil
	}
	p.table.limit = max(1, s.cfg.KnownPairs/len(s.parts))
	p.Next = f.Records[len(f.Records)-1].Offset + 1
	p.End = max(p.End, f.HighWatermark, p.Next)
	return p
}

// logSkipped logs that count records were skipped. last names the last one.
func (s *session) logSkipped(last error, count int) {
	s.cfg.Logger.Error("records were skipped and are not cached; the error names the last one", "count", count, "error", last)
}

// describe returns lines about the progress of the filling.
func (s *session) describe() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := int64(0)
	for _, p := range s.parts {
		behind += max(0, p.End-p.Next)
	}
	return []string{fmt.Sprintf("cache: Redis is being filled: %d partitions here, %d records to go", len(s.parts), behind)}
}
