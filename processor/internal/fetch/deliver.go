package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/inflate"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
)

// Deliver puts fetched records into the inbox of their partition. A panic fails that partition, so
// that its records are fetched again; otherwise these records would be missing.
func Deliver(r *engine.Engine, b *inbox.Inbox, in events.Input, f *kgo.FetchPartition) {
	err := guard.Do("the delivery of what was fetched", func() {
		if r.Config.Planted != nil {
			r.Config.Planted("deliver")
		}
		if len(f.Records) > 0 {
			b.Fetch(in, f.Records, committedEnd(f.LastStableOffset, f.HighWatermark))
		}
		if f.Err != nil && !inflate.Deferred(f.Err) {
			b.Fail(fetchError(r, in, f, b))
		}
	})
	if err != nil {
		b.Fail(failure.Passing(fmt.Errorf("%s/%d: %w", r.Config.Topics.Inputs[in], b.Partition, err)))
	}
}

// committedEnd is the end of what is committed in a log. Brokers without transactions do not state
// the last stable offset.
func committedEnd(lastStable, highWatermark int64) int64 {
	if lastStable < 0 {
		return highWatermark
	}
	return lastStable
}

// DeliverTo returns Deliver for a feeder.
func DeliverTo(r *engine.Engine) func(*inbox.Inbox, events.Input, *kgo.FetchPartition) {
	return func(b *inbox.Inbox, in events.Input, f *kgo.FetchPartition) { Deliver(r, b, in, f) }
}

// fetchError explains an error after which the client no longer fetches a partition. Errors that
// pass by themselves do not come here: the client retries them.
func fetchError(r *engine.Engine, in events.Input, f *kgo.FetchPartition, b *inbox.Inbox) error {
	topic := r.Config.Topics.Inputs[in]
	at := b.Expected()[in]
	var loss *kgo.ErrDataLoss
	switch {
	case errors.Is(f.Err, kgo.ErrMaxDecompress):
		return inflate.InWords(f.Err, r.Config.BatchBytes)
	case errors.Is(f.Err, kerr.OffsetOutOfRange) && f.LogStartOffset > at:
		return fmt.Errorf("%s/%d: the log begins at offset %d now, and records from %d on are not folded yet: they are gone; bring "+
			"back a store or snapshot that is at %d or later", topic, f.Partition, f.LogStartOffset, at, f.LogStartOffset)
	case errors.Is(f.Err, kerr.OffsetOutOfRange):
		return fmt.Errorf("%s/%d: offset %d is not in the log: records were removed at one of its ends: %w",
			topic, f.Partition, at, f.Err)
	case errors.As(f.Err, &loss):
		return fmt.Errorf("%s/%d: the log has lost records that were folded, it ended before offset %d for a while: %w; if the log "+
			"is right, remove the store and the group's offsets to rebuild from it", topic, f.Partition, loss.ConsumedTo, f.Err)
	case errors.Is(f.Err, kerr.UnknownTopicID), errors.Is(f.Err, kerr.InconsistentTopicID):
		return fmt.Errorf("%s/%d: the topic was deleted, or created again: its offsets mean other records; if the new topic is the "+
			"truth, stop, remove the stores and the group's offsets, and start anew: %w", topic, f.Partition, f.Err)
	}
	return failure.Passing(fmt.Errorf("%s/%d at offset %d cannot be fetched: %w", topic, f.Partition, at, f.Err))
}

// Throttle returns at once while fewer than limit bytes are queued. Otherwise it waits until at
// most half of limit is queued, because a delay costs less than pausing a partition, which discards
// its fetched records. It returns early when a partition has no records left, because its next ones
// come only with a later poll.
func Throttle(ctx context.Context, limit int64, queued func() int64, starved func() bool) {
	if queued() < limit {
		return
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for queued() > limit/2 && !starved() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
