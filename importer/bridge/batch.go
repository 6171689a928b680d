package bridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/source"
)

// batch is an open transaction of Kafka.
type batch struct {
	begun  time.Time
	events int
	newest time.Time // commit time of its newest database transaction

	mu     sync.Mutex
	failed error
}

// begin begins a batch, unless one is open.
func (s *session) begin() {
	if s.batch == nil {
		s.batch = &batch{begun: time.Now()}
	}
}

// take writes a transaction of the database into the batch. It splits a large one into several
// batches, so that none takes longer than the brokers wait for it.
func (s *session) take(ctx context.Context, tx *source.Transaction) error {
	all := tx.Changes
	s.status.taken(tx)
	for s.part < len(all) {
		part := *tx
		if part.Changes = all[s.part:]; s.live.Divisible() {
			part.Changes = part.Changes[:min(len(part.Changes), s.conf.part)]
		}
		if err := s.write(ctx, &part); err != nil {
			return err
		}
		if s.part += len(part.Changes); s.part < len(all) {
			if err := s.commit(ctx); err != nil {
				return err
			}
		}
	}
	s.begin()
	s.at, s.batch.newest = tx.At, tx.Time
	if len(all) > 0 { // older databases also send transactions without relevant changes
		s.part -= len(all) // 0, unless Debezium's transaction came in two parts this time
	}
	if s.feed != nil {
		s.feed.taken(tx)
	}
	s.report()
	return nil
}

// write writes changes into the batch.
func (s *session) write(ctx context.Context, tx *source.Transaction) error {
	s.begin()
	b := s.batch
	now := time.Now().UnixMilli()
	return s.live.Transaction(ctx, tx, &s.problems, func(o importer.Origin, e *importer.Event) error {
		records, err := importer.Live(&s.problems, o, e, now)
		if err != nil {
			return err
		}
		for _, r := range records {
			if b.events == 0 {
				if err := s.cl.BeginTransaction(); err != nil {
					return err
				}
			}
			b.events++
			topic := s.conf.Prefix + r.In.String()
			s.produce(ctx, b, &kgo.Record{
				Topic: topic, Partition: events.PartitionOf([]byte(r.Channel), s.counts[topic]), Key: []byte(r.Channel), Value: r.Value,
				Timestamp: time.UnixMilli(r.Millis), Headers: []kgo.RecordHeader{{Key: importer.Header, Value: []byte(s.state.Name())}},
			})
			s.status.written.WithLabelValues(r.In.String()).Inc()
		}
		return s.spared()
	})
}

func (s *session) produce(ctx context.Context, b *batch, r *kgo.Record) {
	s.cl.Produce(ctx, r, func(r *kgo.Record, err error) {
		if err == nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.failed == nil {
			b.failed = fmt.Errorf("writing to %s: %w", r.Topic, err)
		}
	})
}

// commit ends the batch with the position after it, and confirms the position to the database.
func (s *session) commit(ctx context.Context) error {
	b := s.batch
	if b.events == 0 && s.part == 0 && time.Since(s.savedAt) < saveEvery {
		s.batch = nil // it has no relevant change, so its position is saved with the next batch
		return nil
	}
	if b.events == 0 {
		if err := s.cl.BeginTransaction(); err != nil {
			return err
		}
	}
	if s.state.Part = s.part; s.feed != nil {
		s.feed.save(s.state)
	} else {
		s.state.LSN = s.at.String()
	}
	r, err := s.states.Record(s.state)
	if err != nil {
		return err
	}
	s.produce(ctx, b, r)
	if s.memory != nil {
		for name, value := range s.memory.Changed() {
			s.produce(ctx, b, s.states.KnownRecord(name, value))
		}
	}
	if err := s.cl.Flush(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	err = b.failed
	b.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("committing a batch: %w", err)
	}
	s.batch, s.savedAt = nil, time.Now()
	s.status.committed(b)
	if err := s.spared(); err != nil {
		return err
	}
	return s.stream.Confirm(ctx, s.at)
}

// abort gives up an open batch: the next session reads its transactions again.
func (s *session) abort(ctx context.Context) {
	if s.batch == nil || s.conf.spare != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := s.cl.AbortBufferedRecords(ctx); err == nil {
		_ = s.cl.EndTransaction(ctx, kgo.TryAbort) // otherwise the brokers end it
	}
}

func (s *session) spared() error {
	if s.conf.spare == nil {
		return nil
	}
	if err := s.conf.spare(); err != nil {
		return fmt.Errorf("%w: %w", errSpared, err)
	}
	return nil
}

// report writes a line for each new reason why a change could not be mapped.
func (s *session) report() {
	total := int64(0)
	for _, p := range s.problems.List() {
		total += p.Count
	}
	if total == s.reported {
		return
	}
	s.status.problems.Add(float64(total - s.reported))
	s.reported = total
	for _, p := range s.problems.List() {
		if s.status.isNew(p.Reason) {
			s.conf.Log.Warn("a change cannot be mapped to an event", "reason", p.Reason, "first", p.First)
		}
	}
}
