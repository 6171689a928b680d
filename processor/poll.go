package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// poll hands fetched records to the partitions until ctx is done. It never waits for one partition: an input that holds
// too much is paused by its inbox.
func (p *Processor) poll(ctx context.Context) {
	input := map[string]events.Input{}
	for i, topic := range p.cfg.Topics.Inputs {
		input[topic] = events.Input(i)
	}
	for {
		fetches := p.consumer.PollFetches(ctx)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			p.consumer.AllowRebalance()
			return
		}
		fetches.EachTopic(func(t kgo.FetchTopic) {
			in, ok := input[t.Topic]
			if !ok {
				for i := range t.Partitions {
					p.ofNoPartition(t.Partitions[i].Err)
				}
				return
			}
			for i := range t.Partitions {
				p.deliver(p.worker(t.Partitions[i].Partition), in, &t.Partitions[i])
			}
		})
		p.consumer.AllowRebalance()
		p.breathe(ctx)
	}
}

// deliver hands what was fetched to a worker, if there is one.
func (p *Processor) deliver(w *worker, in events.Input, f *kgo.FetchPartition) {
	if w == nil {
		return
	}
	if len(f.Records) > 0 {
		end := f.LastStableOffset
		if end < 0 {
			end = f.HighWatermark
		}
		w.inbox.fetch(in, f.Records, end)
	}
	if f.Err != nil {
		w.inbox.fail(p.fetchError(in, f, w))
	}
}

// fetchError puts an error into words after which the client does not fetch a partition any more; what passes by itself
// it retries without a word.
func (p *Processor) fetchError(in events.Input, f *kgo.FetchPartition, w *worker) error {
	topic := p.cfg.Topics.Inputs[in]
	at := w.inbox.expected()[in]
	var loss *kgo.ErrDataLoss
	switch {
	case errors.Is(f.Err, kerr.OffsetOutOfRange) && f.LogStartOffset > at:
		return fmt.Errorf("%s/%d: the log begins at offset %d now, and records from %d on are not folded yet: they are gone; bring "+
			"back a store or snapshot that is at %d or later", topic, f.Partition, f.LogStartOffset, at, f.LogStartOffset)
	case errors.Is(f.Err, kerr.OffsetOutOfRange):
		return fmt.Errorf("%s/%d: offset %d is not in the log any more, or not yet: the log was cut off at one of its ends: %w",
			topic, f.Partition, at, f.Err)
	case errors.As(f.Err, &loss):
		return fmt.Errorf("%s/%d: the log has lost records that were folded, it ended before offset %d for a while: %w; if the log "+
			"is right, remove the store and the group's offsets to rebuild from it", topic, f.Partition, loss.ConsumedTo, f.Err)
	case errors.Is(f.Err, kerr.UnknownTopicID), errors.Is(f.Err, kerr.InconsistentTopicID):
		return fmt.Errorf("%s/%d: the topic was deleted, or created again: its offsets mean other records; if the new topic is the "+
			"truth, stop, remove the stores and the group's offsets, and start anew: %w", topic, f.Partition, f.Err)
	}
	return passing{fmt.Errorf("%s/%d at offset %d cannot be fetched: %w", topic, f.Partition, at, f.Err)}
}

// ofNoPartition notes an error that the client reports among what it fetches, and that is of no partition.
func (p *Processor) ofNoPartition(err error) {
	var session *kgo.ErrGroupSession
	if err == nil || errors.As(err, &session) {
		return // sessionEnds has told it, in its turn: by the time of this poll the member may be in its group again
	}
	p.groupFailed(err)
}

// sessionEnds calls a function with each error that ends a session of the group, as a hook of the client: after its
// partitions are lost, and before the next session is assigned any.
type sessionEnds func(error)

// OnGroupManageError implements kgo.HookGroupManageError.
func (f sessionEnds) OnGroupManageError(err error) { f(err) }

// groupFailed notes that the member fell out of its group. The client joins again by itself.
func (p *Processor) groupFailed(err error) {
	p.metrics.groupErrors.Inc()
	if errors.Is(err, kerr.FencedInstanceID) {
		err = fmt.Errorf("another process has joined the group with the instance id %q: give each its own, and start this one "+
			"again: %w", p.cfg.InstanceID, err)
	}
	p.setGroupErr(fmt.Errorf("group %s: %w", p.cfg.Group, err))
	p.log.Error("group session ended, joining again", "group", p.cfg.Group, "err", err)
}

// breathe delays the next poll while more is fetched than the partitions can fold.
func (p *Processor) breathe(ctx context.Context) {
	breathe(ctx, p.cfg.QueueBytes, p.queued.Load, p.hungry)
}

// breathe returns once no more than half of limit bytes is queued, if limit was reached: a pause throws away what was
// fetched, a delay does not. It ends as soon as any partition has nothing to do, for then what is missing is with others.
func breathe(ctx context.Context, limit int64, queued func() int64, hungry func() bool) {
	if queued() < limit {
		return
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for queued() > limit/2 && !hungry() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Processor) hungry() bool {
	for _, w := range p.owned() {
		if w.hungry.Load() {
			return true
		}
	}
	return false
}
