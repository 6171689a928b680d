package processor

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/processor/internal/steps"
	"github.com/tidemark/tidemark/projections"
)

// open starts a worker whose store is open and returns where to fetch from.
func (p *Processor) open(w *steps.Worker, offsets map[string]map[int32]kgo.Offset, logs *engine.Survey) (projections.Position, error) {
	select {
	case <-w.Done:
		return projections.Position{}, w.Failed()
	default:
	}
	if logs.Wrong != nil {
		return projections.Position{}, logs.Wrong
	}
	tails := w.Tails.Load()
	if from, started := w.ResumeAt(); started && !tails {
		return from, nil
	}
	at := w.StoredAt
	if tails {
		at = w.Progress.At()
	}
	var h opening.History
	for i, topic := range p.cfg.Topics.Inputs {
		committed, ok := offsets[topic][w.Number]
		if !ok {
			return projections.Position{}, failure.Passing(fmt.Errorf("%s/%d: the group's offset could not be read", topic, w.Number))
		}
		// If nothing is committed, the client passes a negative number that stands for the start of
		// the log.
		h.Committed[i] = max(committed.EpochOffset().Offset, outputs.None)
		var err error
		if h.Start[i], h.End[i], err = logs.Bounds(i, w.Number); err != nil {
			p.log.Warn("the start and end of the log are not known; the partition opens as if the log had every record that it needs, and "+
				"fetching shows whether it has",
				"topic", topic, "partition", w.Number, "err", err)
			h.Start[i], h.End[i] = at[i], max(at[i], h.Committed[i])
		}
	}
	plan, err := opening.Decide(w.Number, &p.cfg.Topics.Inputs, at, h)
	if err != nil {
		if w.Home.SnapshotTrouble != nil {
			err = fmt.Errorf("%w (no snapshot helps: %w)", err, w.Home.SnapshotTrouble)
		}
		return projections.Position{}, err
	}
	p.committer.Own(w.Number, h.Written())
	if tails {
		w.Tails.Store(false)
		w.Inbox.Promote(opening.Order{Plan: plan, Ends: h.End})
		return w.Inbox.Expected(), nil
	}
	if at != (projections.Position{}) && !plan.Published && !plan.Republish {
		// The stored changes were published, but the group has no offsets: they may have expired.
		// Without this commit the group would show a lag until the next record.
		p.committer.Note(w.Number, at)
	}
	w.Begin(opening.Order{Plan: plan, Ends: h.End})
	return plan.From, nil
}
