package sqlsink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/loglimit"
	"github.com/tidemark/tidemark/internal/sink"
)

// session is one membership of the group, with one filling of the database. It ends with the
// filling, and every partition is then opened again.
type session struct {
	sink   *Sink
	cfg    *Config
	logs   sink.Logs
	client *kgo.Client
	begun  filling    // the filling when the session began
	broken chan error // why the session must end, from the group's goroutine

	mu       sync.Mutex
	parts    sink.Owned[*part] // owned now
	released bool              // a partition was given away since the last flush
	since    time.Time         // when the oldest record that is not written was fetched; zero: there is none

	// Used by the poll loop only.
	fill    filling
	batch   batch
	checked time.Time // when the database was last checked
	commits sink.Committer
	bad     loglimit.Lines[error] // records that were not written and are not logged yet
}

// part is a partition that a session owns. session.mu guards Progress.
type part struct {
	partition
	sink.Progress
	token string // names this ownership in the database
}

func newSession(to *Sink, adm *kadm.Client, f filling) *session {
	s := &session{sink: to, cfg: &to.cfg, fill: f, begun: f, broken: make(chan error, 1), parts: sink.Owned[*part]{}, checked: time.Now()}
	s.logs = sink.Logs{Admin: adm, Topics: to.cfg.topics(), RetryMin: to.cfg.RetryMin, RetryMax: to.cfg.RetryMax, Logger: to.cfg.Logger}
	s.commits = sink.Committer{Every: to.cfg.CommitEvery, Behind: s.uncommitted}
	s.batch.reset()
	return s
}

// group returns the configuration of the session's membership.
func (s *session) group() sink.Group {
	return sink.Group{
		Brokers: s.cfg.Brokers, Name: s.cfg.Group, ClientID: "tidemark-sql", Subsystem: "sql_kafka", Topics: s.logs.Topics,
		SessionTimeout: s.cfg.SessionTimeout, FetchBytes: s.cfg.FetchBytes, PartitionBytes: min(s.cfg.FetchBytes, 4<<20),
		Options: s.cfg.ClientOptions, Registerer: s.cfg.Registerer, Logger: s.cfg.Logger,
		Assign: s.assign, LetGo: s.release, Breaks: s.breaks,
	}
}

// run consumes until ctx ends or the session fails. The next session reads collected but unwritten
// records again.
func (s *session) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group := s.group()
	// Records are collected between a poll and AllowRebalance, so that none is added after its
	// partition was given away.
	client, err := group.Client(ctx, kgo.BlockRebalanceOnPoll())
	if err != nil {
		return err
	}
	s.client = client
	defer func() {
		cancel() // first: leaving waits for assign
		s.client.AllowRebalance()
		s.commits.Last(s.client, func(err *guard.Error) { s.cfg.Logger.Error("the SQL sink stops", "error", err) })
		if err := kafkaadmin.Leave(s.client, kafkaadmin.LeavePatience); err != nil {
			s.cfg.Logger.Warn("the SQL sink stops", "group", s.cfg.Group, "error", err)
		}
	}()
	guard.Go("watching the ends of the logs", func(e *guard.Error) { s.breaks(e) }, func() { s.logs.WatchEnds(ctx, s.cfg.CommitEvery, s.end) })
	err = s.consume(ctx, &group)
	s.bad.Rest(s.logSkipped)
	return err
}

// consume is the loop: poll, collect, flush, commit.
func (s *session) consume(ctx context.Context, group *sink.Group) error {
	for {
		fetched, err := s.poll(ctx, group)
		if err != nil {
			return err
		}
		if s.due(fetched) {
			if err := s.flush(ctx); err != nil {
				return err
			}
		}
		if err := s.check(ctx); err != nil {
			return err
		}
		s.commits.Commit(ctx, s.client)
	}
}

// poll collects the fetched records, and returns how many there were. It returns after CheckEvery
// at the latest, and when a flush is due.
func (s *session) poll(ctx context.Context, group *sink.Group) (fetched int, err error) {
	wait, cancel := context.WithTimeout(ctx, s.pollWait())
	defer cancel()
	if err := s.cfg.plant("poll"); err != nil {
		return 0, err
	}
	fetches := s.client.PollRecords(wait, min(10_000, s.cfg.Flush.Rows))
	defer s.client.AllowRebalance()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	select {
	case err := <-s.broken:
		return 0, err
	default:
	}
	if err := group.Failure(wait, s.client, fetches); err != nil {
		return 0, err
	}
	s.collect(fetches)
	return fetches.NumRecords(), nil
}

// pollWait returns how long a poll may wait.
func (s *session) pollWait() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := min(s.cfg.CheckEvery, s.cfg.Flush.Every)
	if !s.fill.complete {
		wait = min(wait, time.Second)
	}
	if !s.since.IsZero() {
		wait = min(wait, time.Until(s.since.Add(s.cfg.Flush.Every)))
	}
	return max(wait, time.Millisecond)
}

// collect adds the fetched records to the batch.
func (s *session) collect(fetches kgo.Fetches) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		s.released = false
		n := s.batch.drop(func(p *part) bool { return s.parts[p.partition] != p })
		s.sink.metrics.skipped.Add(float64(n))
	}
	fetches.EachPartition(func(f kgo.FetchTopicPartition) {
		p := s.parts[partition{Topic: f.Topic, Number: f.Partition}]
		if p == nil || len(f.Records) == 0 {
			return
		}
		for _, r := range f.Records {
			if !r.Attrs.IsControl() {
				s.add(r, p)
			}
		}
		p.Next = f.Records[len(f.Records)-1].Offset + 1
		p.End = max(p.End, f.HighWatermark, p.Next)
		if s.since.IsZero() {
			s.since = time.Now()
		}
	})
}

// add adds one record. If that panics, the record counts as bad.
func (s *session) add(r *kgo.Record, p *part) {
	from, tally := len(s.batch.text.b), s.batch.tally
	err := guard.Do("the taking of a record", func() {
		switch r.Topic {
		case s.cfg.Unread:
			s.batch.addUnread(r, p)
		case s.cfg.Channels:
			s.batch.addChannel(r, p)
		default:
			s.batch.addReceipts(r, p)
		}
	})
	if err == nil {
		return
	}
	s.batch.text.b, s.batch.tally = s.batch.text.b[:from], tally
	s.cfg.Logger.Error("a record was skipped because reading it panicked", append(guard.Attrs(err), "topic", r.Topic, "partition", r.Partition, "offset", r.Offset)...)
	s.batch.tally.records++
	s.batch.bad(r, sink.ErrPanics)
}

// due reports whether the batch must be written now.
func (s *session) due(fetched int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		// Partitions without records are written once, because another member may have ended the
		// filling.
		return fetched == 0 && !s.fill.complete && len(s.parts) > 0
	}
	return s.batch.rows() >= s.cfg.Flush.Rows || len(s.batch.text.b) >= s.cfg.FlushBytes ||
		time.Since(s.since) >= s.cfg.Flush.Every || !s.fill.complete && s.caughtUp()
}

// caughtUp reports whether every record up to the last known ends was collected.
func (s *session) caughtUp() bool {
	for _, p := range s.parts {
		if p.Next < p.End {
			return false
		}
	}
	return true
}

// check notices, every CheckEvery, that the database was wiped or that another member began a
// filling.
func (s *session) check(ctx context.Context) error {
	if time.Since(s.checked) < s.cfg.CheckEvery {
		return nil
	}
	s.checked = time.Now()
	s.mu.Lock()
	var steps []step
	for _, p := range s.parts {
		steps = append(steps, step{p.partition, p.token, p.Stored, p.Stored})
	}
	s.mu.Unlock()
	sortSteps(steps)
	return s.sink.db.persist(ctx, "look at the positions", func(ctx context.Context, tx pgx.Tx) error {
		if err := s.fill.holds(ctx, tx); err != nil {
			return err
		}
		return lock(ctx, tx, steps)
	})
}

// describe returns lines about the progress of the filling.
func (s *session) describe() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := int64(0)
	for _, p := range s.parts {
		behind += max(0, p.End-p.Stored)
	}
	return []string{fmt.Sprintf("sql: the database is being filled: %d partitions here, %d records to go", len(s.parts), behind)}
}
