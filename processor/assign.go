package processor

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// The client calls these one at a time, and none of them between a poll and AllowRebalance.

// onAssigned makes a worker for each new partition; their stores are opened in the background.
func (p *Processor) onAssigned(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
	p.setGroupErr(nil)
	whole, torn := p.numbers(assigned)
	numbers := append(slices.Clone(whole), torn...)
	p.release(numbers, stopAbort) // none is owned, unless the client forgot to say that it was lost
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
			w.refuse(fmt.Errorf("partition %d was assigned for some of the input topics only: another consumer uses the group %s; "+
				"give it a group of its own", n, p.cfg.Group))
		}
		go w.main()
	}
	p.metrics.rebalances.WithLabelValues("assigned").Add(float64(len(numbers)))
	p.share()
	p.hold(whole)
	p.joined = true // only now: a member whose partitions are not known yet must not be taken for one that has none
	if len(numbers) > 0 {
		p.log.Info("partitions assigned", "partitions", numbers)
	}
}

func (p *Processor) onRevoked(_ context.Context, _ *kgo.Client, revoked map[string][]int32) {
	whole, torn := p.numbers(revoked)
	numbers := append(whole, torn...)
	if len(numbers) == 0 {
		return
	}
	p.log.Info("partitions revoked", "partitions", numbers)
	p.metrics.rebalances.WithLabelValues("revoked").Add(float64(len(numbers)))
	p.release(numbers, stopClean)
	p.resume(numbers)
}

// onLost drops partitions that another member may already have. What was not acknowledged is not stored, and nothing is
// published or committed any more. It is called at the end of each session that an error ends, also with no partitions.
func (p *Processor) onLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
	p.mu.Lock()
	p.joined = false // before they are gone: a member that has lost all must not be taken for one that owns nothing
	p.mu.Unlock()
	whole, torn := p.numbers(lost)
	numbers := append(whole, torn...)
	if len(numbers) == 0 {
		return
	}
	p.log.Warn("partitions lost", "partitions", numbers)
	p.metrics.rebalances.WithLabelValues("lost").Add(float64(len(numbers)))
	p.committer.forget(numbers)
	p.release(numbers, stopAbort)
	p.resume(numbers)
}

// numbers are the partition numbers that are there for all inputs, and those that are not.
func (p *Processor) numbers(of map[string][]int32) (whole, torn []int32) {
	count := map[int32]int{}
	for _, topic := range p.cfg.Topics.Inputs {
		for _, n := range of[topic] {
			count[n]++
		}
	}
	for _, n := range sortedKeys(count) {
		if count[n] == events.NumInputs {
			whole = append(whole, n)
		} else {
			torn = append(torn, n)
		}
	}
	return whole, torn
}

// resume lifts the pauses of partitions. They outlive a rebalance.
func (p *Processor) resume(numbers []int32) {
	all := map[string][]int32{}
	for _, topic := range p.cfg.Topics.Inputs {
		all[topic] = slices.Clone(numbers)
	}
	if len(numbers) > 0 {
		p.consumer.ResumeFetchPartitions(all)
	}
}

// share divides the memory for fetched records among the partitions. mu is held.
func (p *Processor) share() {
	partitions := len(p.workers) + len(p.standbys.workers)
	for _, of := range []map[int32]*worker{p.workers, p.standbys.workers} {
		for _, w := range of {
			w.inbox.setMax(p.cfg.inputBytes(partitions))
		}
	}
}

// hold tells the group, with the next join, that this member has the stores of partitions. mu is held.
func (p *Processor) hold(numbers []int32) {
	p.held = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.held), numbers...))))
	p.balancer.setData(memberData{Advertise: p.cfg.Advertise, RelayKey: p.relayKey, Held: p.held, Standbys: p.cfg.Standbys})
}

// adjustOffsets decides where the new partitions start. It waits for their stores to be opened, and for the brokers to
// say where the logs begin and end; a rebalance ends the wait, and the client asks again after it. A partition that
// cannot be opened is left out, so that nothing of it is fetched.
func (p *Processor) adjustOffsets(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
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
	var ws []*worker
	for _, n := range sortedKeys(asked) {
		if w := p.worker(n); w != nil {
			ws = append(ws, w)
		}
	}
	// A standby that takes over is not to wait for stores that are only opened now: they come later.
	takesOver := slices.ContainsFunc(ws, func(w *worker) bool { return w.tails.Load() })
	for _, w := range ws {
		if takesOver {
			break
		}
		select {
		case <-w.opened:
		case <-w.done:
		case <-w.restoring: // the others do not wait for it
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	logs, err := p.survey(ctx, ws)
	if err != nil {
		return nil, err
	}
	if logs.wrong != nil {
		for _, w := range p.owned() { // those that run are as wrong as those that begin
			w.inbox.fail(logs.wrong)
		}
	}
	for _, w := range ws {
		from, err := p.openOrPostpone(w, offsets, logs)
		if err != nil && mayPass(err) {
			// It is assigned and not fetched, so that it can begin once it can be opened.
			p.pause(w.number)
			for _, topic := range p.cfg.Topics.Inputs {
				if o, ok := offsets[topic][w.number]; ok {
					offsets[topic][w.number] = kgo.NewOffset().At(max(o.EpochOffset().Offset, 0)).WithEpoch(-1)
				}
			}
			w.giveUp(err)
			continue
		}
		for i, topic := range p.cfg.Topics.Inputs {
			if err != nil {
				delete(offsets[topic], w.number)
				continue
			}
			offsets[topic][w.number] = kgo.NewOffset().At(from[i]).WithEpoch(-1)
		}
		if err != nil {
			w.giveUp(err)
		}
	}
	return offsets, nil
}

// openOrPostpone is open, but for a worker whose store is still being restored or opened.
func (p *Processor) openOrPostpone(w *worker, offsets map[string]map[int32]kgo.Offset, logs *survey) (projections.Position, error) {
	if isDone(w.done) || w.started.Load() || isDone(w.opened) && !w.postponed.Load() {
		return p.open(w, offsets, logs)
	}
	var committed projections.Position
	for i, topic := range p.cfg.Topics.Inputs {
		committed[i] = offsets[topic][w.number].EpochOffset().Offset
	}
	return p.postpone(w, committed), nil
}

// open starts a worker whose store is open and returns where to fetch from.
func (p *Processor) open(w *worker, offsets map[string]map[int32]kgo.Offset, logs *survey) (projections.Position, error) {
	select {
	case <-w.done:
		return projections.Position{}, w.failed()
	default:
	}
	if logs.wrong != nil {
		return projections.Position{}, logs.wrong
	}
	tails := w.tails.Load()
	if from, started := w.resumeAt(); started && !tails {
		return from, nil
	}
	at := w.storedAt
	if tails {
		at = w.progress.at()
	}
	var h history
	for i, topic := range p.cfg.Topics.Inputs {
		committed, ok := offsets[topic][w.number]
		if !ok {
			return projections.Position{}, passing{fmt.Errorf("%s/%d: the group's offset could not be read", topic, w.number)}
		}
		// Where nothing is committed the client has put the start of the log, which is negative.
		h.committed[i] = max(committed.EpochOffset().Offset, none)
		var err error
		if h.start[i], h.end[i], err = logs.bounds(i, w.number); err != nil {
			p.log.Warn("where the log begins and ends is not known; it is taken to have what is needed, and fetching will tell",
				"topic", topic, "partition", w.number, "err", err)
			h.start[i], h.end[i] = at[i], max(at[i], h.committed[i])
		}
	}
	plan, err := planOpening(w.number, &p.cfg.Topics.Inputs, at, h)
	if err != nil {
		if w.snapshotTrouble != nil {
			err = fmt.Errorf("%w (no snapshot helps: %w)", err, w.snapshotTrouble)
		}
		return projections.Position{}, err
	}
	p.committer.own(w.number, h.committed)
	if tails {
		w.tails.Store(false)
		w.inbox.promote(order{plan: plan, ends: h.end})
		return w.inbox.expected(), nil
	}
	if at != (projections.Position{}) && !plan.published {
		// What is stored was published. Where it is beyond what the group has, a crash came before the commit; without
		// this the group would show a lag until the next record.
		p.committer.note(w.number, at)
	}
	w.begin(order{plan: plan, ends: h.end})
	return plan.from, nil
}
