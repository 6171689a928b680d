package processor

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// A partition whose store takes long to open does not delay the others of the same assignment. That
// is so if the store is restored from a snapshot, if it was found corrupt and is rebuilt, if its
// disk is full, or if a standby would simply be faster. The client gets a placeholder offset for
// the partition and pauses it before it fetches. When the store is open, the true offsets are set
// and the partition resumes. Heartbeats go on meanwhile, and a rebalance that takes the partition
// away ends the restore.

// postpone keeps the client from fetching a partition that is opened later. It returns the
// placeholder offsets.
func (p *Processor) postpone(w *steps.Worker, committed projections.Position) projections.Position {
	p.pause(w.Number)
	if w.Postponed.CompareAndSwap(false, true) {
		p.launchLater(w)
	}
	for i := range committed {
		committed[i] = max(committed[i], 0)
	}
	return committed
}

func (p *Processor) launchLater(w *steps.Worker) {
	guard.Go("the opening of a partition", func(e *guard.Error) {
		w.GiveUp(failure.Passing(fmt.Errorf("partition %d: %w", w.Number, e)))
	}, func() { p.openLater(w) })
}

// openLater starts a postponed partition when its store is open.
func (p *Processor) openLater(w *steps.Worker) {
	select {
	case <-w.Opened:
	case <-w.Done:
		return
	}
	for {
		pause := 50 * time.Millisecond
		if p.assigned(w.Number) {
			err := p.openNow(w)
			if err == nil {
				return
			}
			p.log.Warn("a restored partition cannot start yet", "partition", w.Number, "err", err)
			pause = time.Second
		}
		select {
		case <-time.After(pause):
		case <-w.Done:
			return
		}
	}
}

// assigned reports whether the client has accepted the offsets of a partition. Before that it would
// drop other offsets.
func (p *Processor) assigned(number int32) bool {
	offsets := p.consumer.CommittedOffsets()
	for _, topic := range p.cfg.Topics.Inputs {
		if _, ok := offsets[topic][number]; !ok {
			return false
		}
	}
	return true
}

// openNow decides where a partition with an open store starts, and lets the client fetch from
// there. The error may be transient.
func (p *Processor) openNow(w *steps.Worker) error {
	ctx, cancel := context.WithTimeout(w.Ctx, engine.SurveyPatience)
	defer cancel()
	logs, err := p.engine.Survey(ctx, []int32{w.Number})
	if err != nil {
		return err
	}
	committed, err := p.admin.FetchOffsets(ctx, p.cfg.Group)
	if err != nil {
		return fmt.Errorf("the offsets of group %s cannot be read: %w", p.cfg.Group, err)
	}
	offsets := map[string]map[int32]kgo.Offset{}
	var metadata []string // metadata of the committed offsets
	for _, topic := range p.cfg.Topics.Inputs {
		o, ok := committed.Lookup(topic, w.Number)
		metadata = append(metadata, o.Metadata)
		at := kgo.NewOffset().AtStart()
		if ok && o.Err != nil {
			return fmt.Errorf("%s/%d: the group's offset cannot be read: %w", topic, w.Number, o.Err)
		}
		if ok && o.At >= 0 {
			at = at.At(o.At)
		}
		offsets[topic] = map[int32]kgo.Offset{w.Number: at}
	}
	// While mu is held the partition cannot be given away, so the offsets are set for this worker.
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.workers[w.Number] != w {
		return nil
	}
	p.publisher.Roster.Take(w.Number, metadata...)
	from, err := p.open(w, offsets, logs)
	if err != nil {
		w.GiveUp(err)
		return nil
	}
	set := map[string]map[int32]kgo.EpochOffset{}
	for i, topic := range p.cfg.Topics.Inputs {
		set[topic] = map[int32]kgo.EpochOffset{w.Number: {Epoch: -1, Offset: from[i]}}
	}
	p.consumer.SetOffsets(set)
	p.consumer.ResumeFetchPartitions(p.inputsOf(w.Number))
	return nil
}
