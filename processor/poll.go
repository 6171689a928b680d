package processor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/fetch"
)

// poll delivers fetched records to the partitions until ctx is done. It never waits for one
// partition: an inbox pauses an input that holds too much.
func (p *Processor) poll(ctx context.Context) {
	input := map[string]events.Input{}
	for i, topic := range p.cfg.Topics.Inputs {
		input[topic] = events.Input(i)
	}
	for began := time.Now(); p.pollOnce(ctx, input); began = time.Now() {
		p.throttle(ctx)
		if wait := pollEvery - time.Since(began); wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
	}
}

// pollEvery is the least time between the beginnings of two polls. A broker gets at most one fetch that
// brings records for each. Without it, a node with a few thousand events a second makes a fetch for
// nearly each of them, which costs the node and the brokers much more than the event. An event that
// comes after a pause does not wait.
const pollEvery = 5 * time.Millisecond

// pollOnce delivers the records of one poll, and reports whether to poll again.
func (p *Processor) pollOnce(ctx context.Context, input map[string]events.Input) bool {
	defer p.consumer.AllowRebalance()
	fetches := p.consumer.PollFetches(ctx)
	if ctx.Err() != nil || fetches.IsClientClosed() {
		return false
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
			if w := p.worker(t.Partitions[i].Partition); w != nil {
				seen := fetch.SeenIn(&t.Partitions[i])
				fetch.Deliver(p.engine, w.Inbox, in, &t.Partitions[i])
				if !p.cfg.ClientConsumes {
					p.catchUp.Look(w.Ctx, w.Inbox, in, seen)
				}
			}
		}
	})
	return true
}

// ofNoPartition handles an error that the client reports among the fetches and that belongs to no
// partition.
func (p *Processor) ofNoPartition(err error) {
	var session *kgo.ErrGroupSession
	if err == nil || errors.As(err, &session) {
		return // sessionEnds has already reported it: by now the member may be in its group again
	}
	p.groupFailed(err)
}

// sessionEnds is a hook of the client that is called with each error that ends a session of the
// group: after its partitions are lost, and before the next session is assigned any.
type sessionEnds func(error)

// OnGroupManageError implements kgo.HookGroupManageError.
func (f sessionEnds) OnGroupManageError(err error) { f(err) }

// groupFailed records that the member fell out of its group. The client joins again by itself.
func (p *Processor) groupFailed(err error) {
	p.metrics.GroupErrors.Inc()
	if errors.Is(err, kerr.FencedInstanceID) {
		err = fmt.Errorf("another process has joined the group with the instance id %q: give each its own, and start this one "+
			"again: %w", p.cfg.InstanceID, err)
	}
	p.engine.SetGroupErr(fmt.Errorf("group %s: %w", p.cfg.Group, err))
	p.log.Error("group session ended, rejoining", "group", p.cfg.Group, "err", err)
}

// throttle delays the next poll while more is fetched than the partitions can fold.
func (p *Processor) throttle(ctx context.Context) {
	fetch.Throttle(ctx, p.cfg.QueueBytes, p.engine.Queued.Load, p.starved)
}

// starved reports whether a partition has nothing to fold.
func (p *Processor) starved() bool {
	for _, w := range p.owned() {
		if w.Inbox.Starved.Load() {
			return true
		}
	}
	return false
}
