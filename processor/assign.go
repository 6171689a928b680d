package processor

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// The client calls these methods one at a time, and never between a poll and AllowRebalance.

// onAssigned creates a worker for each new partition. The stores are opened in the background.
func (p *Processor) onAssigned(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
	p.engine.SetGroupErr(nil)
	whole, torn := p.numbers(assigned)
	numbers := append(slices.Clone(whole), torn...)
	p.release(numbers, inbox.StopAbort, p.revoked()) // normally it owns none of them; the client may not have reported a lost partition
	p.resume(numbers)

	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		if w := p.standbys.promote(n); w != nil {
			p.workers[n] = w
			continue
		}
		w := p.newWorker(n, p.consumer)
		p.workers[n] = w
		if slices.Contains(torn, n) {
			w.Refuse(fmt.Errorf("partition %d was assigned for some of the input topics only: another consumer uses the group %s; "+
				"give it a group of its own", n, p.cfg.Group))
		}
		w.Launch()
	}
	p.metrics.Rebalances.WithLabelValues("assigned").Add(float64(len(numbers)))
	p.share()
	p.noteStores(whole)
	p.joined = true // set last: a member whose partitions are not known yet must not look like one without partitions
	if len(numbers) > 0 {
		p.log.Info("partitions assigned", "partitions", numbers)
	}
}

// onFetched reads the metadata of the committed offsets of new partitions: it names their former
// producers.
func (p *Processor) onFetched(_ context.Context, _ *kgo.Client, answer *kmsg.OffsetFetchResponse) error {
	for _, group := range answer.Groups {
		for _, topic := range group.Topics {
			for _, at := range topic.Partitions {
				metadata := ""
				if at.Metadata != nil {
					metadata = *at.Metadata
				}
				p.publisher.Roster.Take(at.Partition, metadata)
			}
		}
	}
	select {
	case p.renewLease <- struct{}{}:
	default:
	}
	return nil
}

func (p *Processor) onRevoked(_ context.Context, _ *kgo.Client, revoked map[string][]int32) {
	whole, torn := p.numbers(revoked)
	numbers := append(whole, torn...)
	if len(numbers) == 0 {
		return
	}
	p.log.Info("partitions revoked", "partitions", numbers)
	p.metrics.Rebalances.WithLabelValues("revoked").Add(float64(len(numbers)))
	p.release(numbers, inbox.StopClean, p.revoked())
	p.resume(numbers)
}

// onLost drops partitions that another member may already own. It stores only acknowledged changes,
// and publishes and commits nothing more. The client calls it at the end of each session that an
// error ends, even without partitions.
func (p *Processor) onLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	p.mu.Lock()
	p.joined = false // set first: a member that has lost all partitions must not look like one that owns none
	p.mu.Unlock()
	whole, torn := p.numbers(lost)
	numbers := append(whole, torn...)
	if len(numbers) == 0 {
		return
	}
	p.log.Warn("partitions lost", "partitions", numbers)
	p.disown(numbers)
	p.release(numbers, inbox.StopAbort, p.revoked())
	p.resume(numbers)
}

// numbers returns the partitions that exist in every input topic (whole) and in only some (torn).
func (p *Processor) numbers(of map[string][]int32) (whole, torn []int32) {
	count := map[int32]int{}
	for _, topic := range p.cfg.Topics.Inputs {
		for _, n := range of[topic] {
			count[n]++
		}
	}
	for _, n := range slices.Sorted(maps.Keys(count)) {
		if count[n] == events.NumInputs {
			whole = append(whole, n)
		} else {
			torn = append(torn, n)
		}
	}
	return whole, torn
}

// adjustOffsets decides where the new partitions start. It waits for their stores to open, and for
// the brokers to report the bounds of the logs. A rebalance ends the wait, and the client calls
// again after it. adjustOffsets leaves out a partition that cannot be opened, so that nothing of it
// is fetched.
func (p *Processor) adjustOffsets(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	if p.cfg.Planted != nil {
		p.cfg.Planted("offsets")
	}
	asked := map[int32]bool{}
	for topic, partitions := range offsets {
		if !slices.Contains(p.cfg.Topics.Inputs[:], topic) {
			delete(offsets, topic)
			continue
		}
		for n := range partitions {
			asked[n] = true
		}
	}
	var ws []*steps.Worker
	for _, n := range slices.Sorted(maps.Keys(asked)) {
		if w := p.worker(n); w != nil {
			ws = append(ws, w)
		}
	}
	// A standby that takes over must not wait for stores that are only opened now: they start
	// later.
	takesOver := slices.ContainsFunc(ws, func(w *steps.Worker) bool { return w.Tails.Load() })
	for _, w := range ws {
		if takesOver {
			break
		}
		select {
		case <-w.Opened:
		case <-w.Done:
		case <-w.Home.Slow: // the others do not wait for this store
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	logs, err := p.engine.Survey(ctx, numbersOf(ws))
	if err != nil {
		return nil, err
	}
	if logs.Wrong != nil {
		for _, w := range p.owned() { // wrong topics concern running partitions as well as new ones
			w.Inbox.Fail(logs.Wrong)
		}
	}
	for _, w := range ws {
		from, err := p.openOrPostpone(w, offsets, logs)
		if err != nil && failure.MayPass(err) {
			// The partition stays assigned but is not fetched, so that it can start once it can be
			// opened.
			p.pause(w.Number)
			for _, topic := range p.cfg.Topics.Inputs {
				if o, ok := offsets[topic][w.Number]; ok {
					offsets[topic][w.Number] = kgo.NewOffset().At(max(o.EpochOffset().Offset, 0)).WithEpoch(-1)
				}
			}
			w.GiveUp(err)
			continue
		}
		for i, topic := range p.cfg.Topics.Inputs {
			if err != nil {
				delete(offsets[topic], w.Number)
				continue
			}
			offsets[topic][w.Number] = kgo.NewOffset().At(from[i]).WithEpoch(-1)
		}
		if err != nil {
			w.GiveUp(err)
		}
	}
	return offsets, nil
}

// openOrPostpone is open, but postpones a worker whose store is still being restored or opened.
func (p *Processor) openOrPostpone(w *steps.Worker, offsets map[string]map[int32]kgo.Offset, logs *engine.Survey) (projections.Position, error) {
	if life.Done(w.Done) || w.Started.Load() || life.Done(w.Opened) && !w.Postponed.Load() {
		return p.open(w, offsets, logs)
	}
	var committed projections.Position
	for i, topic := range p.cfg.Topics.Inputs {
		committed[i] = offsets[topic][w.Number].EpochOffset().Offset
	}
	return p.postpone(w, committed), nil
}
