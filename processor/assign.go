package processor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// The client calls these one at a time, and none of them between a poll and AllowRebalance.

// onAssigned makes a worker for each new partition; their stores are opened in the background.
func (p *Processor) onAssigned(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
	p.joined.Store(true)
	p.setGroupErr(nil)
	whole, torn := p.numbers(assigned)
	numbers := append(slices.Clone(whole), torn...)
	p.release(numbers, stopAbort) // none is owned, unless the client forgot to say that it was lost
	p.resume(numbers)

	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		w := p.newWorker(n)
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
// published or committed any more.
func (p *Processor) onLost(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
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

// release ends the workers of partitions: in order, with their last offsets committed, or at once. It returns within
// about StopTimeout, whatever brokers and disks do: what does not finish by then is cut off, and what is busy even so
// (opening a large store, a disk that hangs) ends by itself later. A worker that opens the same store again waits for
// that.
func (p *Processor) release(numbers []int32, how stopKind) {
	var ending []*worker
	p.mu.RLock()
	for _, n := range numbers {
		if w := p.workers[n]; w != nil {
			ending = append(ending, w)
		}
	}
	p.mu.RUnlock()
	if len(ending) == 0 {
		return
	}
	for _, w := range ending {
		w.inbox.stop(how)
	}
	if !await(ending, p.cfg.StopTimeout) {
		p.log.Warn("partitions did not finish in time and are cut off: their new owner publishes the rest again",
			"partitions", numbers, "after", p.cfg.StopTimeout)
		for _, w := range ending {
			w.inbox.stop(stopAbort)
		}
		await(ending, p.cfg.StopTimeout/10)
	}
	if how == stopClean {
		ctx, cancel := context.WithTimeout(context.Background(), p.cfg.StopTimeout/2)
		defer cancel()
		if err := p.committer.flush(ctx, numbers); err != nil {
			p.log.Warn("the last offsets were not committed: the new owner publishes a little again", "partitions", numbers, "err", err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range ending {
		delete(p.workers, w.number)
		p.leaving[w.number] = w.done
	}
	p.share()
}

// await waits until the workers are done, but for those that are still opening their stores: nothing depends on these.
func await(ws []*worker, timeout time.Duration) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	for _, w := range ws {
		select {
		case <-w.opened:
		default:
			continue
		}
		select {
		case <-w.done:
		case <-deadline.C:
			return false
		}
	}
	return true
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
	for _, w := range p.workers {
		w.inbox.setMax(p.cfg.inputBytes(len(p.workers)))
	}
}

// hold tells the group, with the next join, that this member has the stores of partitions. mu is held.
func (p *Processor) hold(numbers []int32) {
	p.held = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(p.held), numbers...))))
	p.balancer.setData(memberData{Advertise: p.cfg.Advertise, Held: p.held})
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
	for _, w := range ws {
		select {
		case <-w.opened:
		case <-w.done:
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
		from, err := p.open(w, offsets, logs)
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
	if from, started := w.resumeAt(); started {
		return from, nil
	}
	var h history
	for i, topic := range p.cfg.Topics.Inputs {
		committed, ok := offsets[topic][w.number]
		if !ok {
			return projections.Position{}, fmt.Errorf("%s/%d: the group's offset could not be read", topic, w.number)
		}
		// Where nothing is committed the client has put the start of the log, which is negative.
		h.committed[i] = max(committed.EpochOffset().Offset, none)
		start, end := logs.start[i][w.number], logs.end[i][w.number]
		h.start[i], h.end[i] = start.Offset, end.Offset
		if err := errors.Join(start.Err, end.Err); err != nil {
			return projections.Position{}, fmt.Errorf("%s/%d: its first and last offset cannot be read: %w", topic, w.number, err)
		}
	}
	plan, err := planOpening(w.number, &p.cfg.Topics.Inputs, w.storedAt, h)
	if err != nil {
		return projections.Position{}, err
	}
	p.committer.own(w.number, h.committed)
	w.begin(plan, h.end)
	return plan.from, nil
}

// topicsChanged says in words how the topics differ from what they were when the processor started; nil if they do not.
func topicsChanged(was, is *identity) error {
	if *was == *is {
		return nil
	}
	if was.partitions != is.partitions {
		return fmt.Errorf("the topics had %d partitions when this process started and have %d now: keys have moved between "+
			"partitions and counts would be wrong; reshard into new topics with the new partition count", was.partitions, is.partitions)
	}
	for i := range was.topics {
		if was.topics[i].ID != is.topics[i].ID {
			return fmt.Errorf("topic %s was deleted and created again: its offsets mean other records; if the new topic is the "+
				"truth, stop, remove the stores and the group's offsets, and start anew", was.topics[i].Name)
		}
	}
	return fmt.Errorf("the brokers belong to cluster %s, not to %s as when this process started", is.id, was.id)
}

// survey is what the brokers say of the inputs.
type survey struct {
	wrong      error // the topics are not what the processor started with
	start, end [events.NumInputs]map[int32]kadm.ListedOffset
}

// surveyPatience is for how long a partition that has no leader is waited for before the others start without it.
const surveyPatience = 10 * time.Second

// survey asks until there is an answer for all partitions of ws, or until patience for those without one is at an end.
func (p *Processor) survey(ctx context.Context, ws []*worker) (*survey, error) {
	deadline := time.Now().Add(surveyPatience)
	for try := 0; ; try++ {
		s, err := p.surveyOnce(ctx)
		if err == nil && (s.wrong != nil || s.complete(ws) || time.Now().After(deadline)) {
			p.setGroupErr(nil)
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			p.setGroupErr(fmt.Errorf("the brokers do not say where the logs begin and end: %w", err))
			p.log.Warn("the brokers do not say where the logs begin and end yet", "err", err)
		}
		select {
		case <-time.After(min(time.Duration(try+1)*100*time.Millisecond, 2*time.Second)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (p *Processor) surveyOnce(ctx context.Context) (*survey, error) {
	s := &survey{}
	topics := p.cfg.Topics.Inputs[:]
	var starts, ends kadm.ListedOffsets
	var errs [3]error
	var all sync.WaitGroup
	all.Go(func() {
		is, err := p.lookUp(ctx)
		switch {
		case err == nil:
			s.wrong = topicsChanged(p.cluster.Load(), is)
		case isWrong(err):
			s.wrong = err
		default:
			errs[0] = err
		}
	})
	all.Go(func() { starts, errs[1] = p.admin.ListStartOffsets(ctx, topics...) })
	all.Go(func() { ends, errs[2] = p.admin.ListCommittedOffsets(ctx, topics...) })
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil && s.wrong == nil {
		return nil, err
	}
	for i, topic := range topics {
		s.start[i], s.end[i] = starts[topic], ends[topic]
	}
	return s, nil
}

func (s *survey) complete(ws []*worker) bool {
	for _, w := range ws {
		for i := range s.start {
			start, ok := s.start[i][w.number]
			end, ok2 := s.end[i][w.number]
			if !ok || !ok2 || start.Err != nil || end.Err != nil {
				return false
			}
		}
	}
	return true
}
