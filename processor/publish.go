package processor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// publisher produces the output records of all partitions.
type publisher struct {
	client  *kgo.Client
	metrics *metrics
}

// set is the records of one partition that are produced together. A partition has at most one at a time, and of the topics
// where a value replaces another a set holds each key once, so producing some of its records again never puts an older
// value after a newer one.
type set struct {
	p    *publisher
	ctx  context.Context
	done func(error)

	left   atomic.Int64
	mu     sync.Mutex
	failed []*kgo.Record
	err    error // the first that is not worth a retry, else the last
	fatal  bool
	tries  int
}

// publish produces records and calls done once, when all are acknowledged or the first fails for good. What fails
// because of the brokers' state is produced again, for as long as ctx lives: it may have been applied all the same, and
// repeating it is harmless.
func (p *publisher) publish(ctx context.Context, records []*kgo.Record, done func(error)) {
	s := &set{p: p, ctx: ctx, done: done}
	// The client blocks when its buffers are full.
	go s.produce(records)
}

func (s *set) produce(records []*kgo.Record) {
	s.left.Store(int64(len(records)))
	for _, r := range records {
		s.p.client.Produce(s.ctx, r, s.promise)
	}
}

func (s *set) promise(r *kgo.Record, err error) {
	if err != nil {
		s.mu.Lock()
		s.failed = append(s.failed, r)
		if !s.fatal {
			s.err, s.fatal = fmt.Errorf("%s/%d: %w", r.Topic, r.Partition, kafkaadmin.Refused(r.Topic, "Write", err)), !retriable(err)
			if s.fatal {
				s.p.metrics.refused.WithLabelValues(r.Topic).Inc()
			}
		}
		s.mu.Unlock()
	}
	if s.left.Add(-1) == 0 {
		s.finish()
	}
}

func (s *set) finish() {
	s.mu.Lock()
	failed, err, fatal := s.failed, s.err, s.fatal
	s.failed, s.err = nil, nil
	s.mu.Unlock()
	if err == nil || fatal || s.ctx.Err() != nil {
		s.done(err)
		return
	}
	s.tries++
	s.p.metrics.retried.Add(float64(len(failed)))
	time.AfterFunc(min(time.Duration(s.tries)*50*time.Millisecond, time.Second), func() { s.produce(failed) })
}

// retriable tells what may go away by itself from what needs a person: a record too large, a missing right.
func retriable(err error) bool {
	for _, known := range []error{
		kgo.ErrRecordTimeout, kgo.ErrRecordRetries,
		kerr.OutOfOrderSequenceNumber, kerr.InvalidProducerEpoch, kerr.UnknownProducerID, kerr.InvalidProducerIDMapping,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var data *kgo.ErrDataLoss
	return errors.As(err, &data) || kerr.IsRetriable(err)
}
