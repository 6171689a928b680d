package processor

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/projections"
)

// A partition whose store takes long to come (it is restored from a snapshot, or rebuilt because it was found corrupt while
// it ran, or there is no room on its disk; or it is just longer than a standby takes to go on) does not hold up the others of the same assignment. The client is told to fetch it from anywhere and is paused
// before it does; when the store is open, the true offsets are set and the pause is lifted. Heartbeats go on all the
// while, and a rebalance that takes the partition away ends the restore.

// postpone makes the client not fetch a partition that is opened later. It returns where it would.
func (p *Processor) postpone(w *worker, committed projections.Position) projections.Position {
	p.pause(w.number)
	if w.postponed.CompareAndSwap(false, true) {
		go p.openLater(w)
	}
	for i := range committed {
		committed[i] = max(committed[i], 0)
	}
	return committed
}

func (p *Processor) pause(number int32) { p.consumer.PauseFetchPartitions(p.inputsOf(number)) }

// inputsOf are the inputs of one partition as the client names them.
func (p *Processor) inputsOf(number int32) map[string][]int32 {
	all := map[string][]int32{}
	for _, topic := range p.cfg.Topics.Inputs {
		all[topic] = []int32{number}
	}
	return all
}

// openLater starts a postponed partition when its store is open.
func (p *Processor) openLater(w *worker) {
	select {
	case <-w.opened:
	case <-w.done:
		return
	}
	for {
		pause := 50 * time.Millisecond
		if p.assigned(w.number) {
			err := p.openNow(w)
			if err == nil {
				return
			}
			p.log.Warn("a partition that is restored cannot start yet", "partition", w.number, "err", err)
			pause = time.Second
		}
		select {
		case <-time.After(pause):
		case <-w.done:
			return
		}
	}
}

// assigned reports whether the client has taken the offsets of a partition: before that it would forget others.
func (p *Processor) assigned(number int32) bool {
	offsets := p.consumer.CommittedOffsets()
	for _, topic := range p.cfg.Topics.Inputs {
		if _, ok := offsets[topic][number]; !ok {
			return false
		}
	}
	return true
}

// openNow decides where a partition starts whose store is open, and lets the client fetch from there. An error may pass.
func (p *Processor) openNow(w *worker) error {
	ctx, cancel := context.WithTimeout(w.ctx, surveyPatience)
	defer cancel()
	logs, err := p.survey(ctx, []*worker{w})
	if err != nil {
		return err
	}
	committed, err := p.admin.FetchOffsets(ctx, p.cfg.Group)
	if err != nil {
		return fmt.Errorf("the offsets of group %s cannot be read: %w", p.cfg.Group, err)
	}
	offsets := map[string]map[int32]kgo.Offset{}
	for _, topic := range p.cfg.Topics.Inputs {
		o, ok := committed.Lookup(topic, w.number)
		at := kgo.NewOffset().AtStart()
		if ok && o.Err != nil {
			return fmt.Errorf("%s/%d: the group's offset cannot be read: %w", topic, w.number, o.Err)
		}
		if ok && o.At >= 0 {
			at = at.At(o.At)
		}
		offsets[topic] = map[int32]kgo.Offset{w.number: at}
	}
	// While mu is held the partition is not given away, so what is set is set for this worker.
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.workers[w.number] != w {
		return nil
	}
	from, err := p.open(w, offsets, logs)
	if err != nil {
		w.giveUp(err)
		return nil
	}
	set := map[string]map[int32]kgo.EpochOffset{}
	for i, topic := range p.cfg.Topics.Inputs {
		set[topic] = map[int32]kgo.EpochOffset{w.number: {Epoch: -1, Offset: from[i]}}
	}
	p.consumer.SetOffsets(set)
	p.consumer.ResumeFetchPartitions(p.inputsOf(w.number))
	return nil
}

// maxReopened bounds how often a partition is rebuilt without a new assignment.
const maxReopened = 3

// reopen opens a partition again whose worker w has failed and ends: because its store was found corrupt while it ran, so
// that its next worker finds no store and looks for a snapshot, or because what failed it may have passed (retry.go). It
// reports whether the partition is still this process's.
func (p *Processor) reopen(w *worker, change func(next *worker)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers[w.number] != w {
		return false
	}
	p.pause(w.number)
	next := p.newWorker(w.number, p.consumer)
	change(next)
	next.postponed.Store(true)
	next.after = w.done
	p.workers[w.number] = next
	p.share()
	go next.main()
	go p.openLater(next)
	return true
}
