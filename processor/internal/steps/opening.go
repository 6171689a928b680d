package steps

import (
	"fmt"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/failure"
	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/merge"
	"github.com/tidemark/tidemark/processor/internal/opening"
	"github.com/tidemark/tidemark/projections"
)

// start starts folding, with an open store and before anything is fetched.
func (w *Worker) start(now time.Time, o opening.Plan, ends projections.Position) {
	w.plan = o
	w.merge = merge.NewMerger(w.cfg.MergeWait)
	w.merge.Batch = w.cfg.BatchBytes
	w.breaker = newBreaker(w.cfg.Breaker)
	w.listing = !w.Fold.Listed()
	w.began, w.lastLogged, w.lastCut, w.lastFull = now, now, now, now
	if w.standby {
		w.Life.To(life.Standby)
	} else {
		w.Life.To(life.CatchingUp)
	}
	w.merge.Begin(o.From, ends)
	for i := range ends {
		w.ends[i].Store(ends[i])
	}
	w.stored = w.Fold.StoredPosition()
	if o.LogTruncated {
		w.skipTo(o.From)
		w.log.Warn("nothing was folded here before, and the logs do not begin at offset 0: counts cover only the records that are left",
			"partition", w.Number, "position", o.From)
	}
	w.acked = w.Fold.Position()
	w.Progress.advance(w.Fold.Position())
	w.replaying, w.goal = o.Published || w.standby, o.Until
	if w.replaying {
		w.merge.Limit(&o.Until)
	}
	w.setPublishing()
	remaining, _ := o.Remaining(w.Fold.Position())
	w.log.Info("partition opens", "partition", w.Number, "position", w.Fold.Position(), "until", o.Until,
		"records", remaining, "replays", w.replaying)
	if !w.replaying {
		w.startPublishing(now, o.Until)
	}
}

// skipTo moves the fold forward to a position, past offsets that the logs no longer have.
func (w *Worker) skipTo(position projections.Position) {
	at := w.Fold.Position()
	if at == position {
		return
	}
	w.Fold.Lock()
	defer w.Fold.Unlock()
	for i := range position {
		if at[i] != position[i] {
			w.Fold.Skip(events.Input(i), position[i])
		}
	}
}

// advanceOpening moves a replaying partition past gaps before its goal, and starts to publish once
// it is there. Nothing beyond the goal has been folded by then, so the changes that were drained
// and dropped are exactly those that were published before.
func (w *Worker) advanceOpening(now time.Time) {
	position := w.Fold.Position()
	for i, until := range w.plan.Until {
		if position[i] < until && w.merge.Passed(events.Input(i), until) {
			position[i] = until
		}
	}
	w.skipTo(position)
	w.Progress.advance(position)
	if w.standby {
		return
	}
	if !w.atGoal() {
		w.report(now, position)
		return
	}
	if w.flight != nil {
		return
	}
	w.drain(now, true, true, false)
	if w.stopping == inbox.StopNone {
		w.startPublishing(now, w.goal)
	}
}

// startPublishing ends the replay: everything folded from here on is published. The partition is
// live once it has reached goal, which is beyond its position only if two owners overlapped and
// left a store and a commit that are incomparable. Readers may have seen everything up to goal, so
// the partition answers no queries before it is there.
func (w *Worker) startPublishing(now time.Time, goal projections.Position) {
	w.replaying = false
	w.setPublishing()
	w.merge.Limit(nil)
	if w.plan.Republish {
		w.Fold.Republish(w.plan.RepublishSince)
		if err := w.Fold.Err(); err != nil { // it may have missed something
			w.fail(failure.OfStore(fmt.Errorf("partition %d: %w", w.Number, err)), inbox.StopAbort)
			return
		}
		w.acked = w.plan.RepublishSince // until the changes since are published again, nothing beyond is committed
	}
	w.plan.Until = goal
	w.goLiveAtGoal(now)
}

// setPublishing sets whether the fold's changes are published. It is called when everything is
// drained.
func (w *Worker) setPublishing() {
	w.Fold.Lock()
	defer w.Fold.Unlock()
	w.Fold.Quiet(w.replaying)
}

// goLiveAtGoal makes an opening partition that publishes live once it has reached its goal.
func (w *Worker) goLiveAtGoal(now time.Time) {
	if w.atGoal() {
		w.goLive(now)
	} else {
		w.report(now, w.Fold.Position())
	}
}

// atGoal reports whether an opening partition has reached the end of its plan.
func (w *Worker) atGoal() bool { return w.plan.Reached(w.Fold.Position()) }

func (w *Worker) goLive(now time.Time) {
	w.opening.Store(nil)
	w.served = w.Fold.Projection()
	w.Live.Store(w.served)
	w.Life.To(life.Live)
	w.log.Info("partition is live", "partition", w.Number, "position", w.Fold.Position(), "after", now.Sub(w.began))
}

// logEvery is how often the progress of an opening is logged.
const logEvery = 5 * time.Second

func (w *Worker) report(now time.Time, position projections.Position) {
	remaining, total := w.plan.Remaining(position)
	p := &life.Progress{}
	if total > 0 {
		p.Done = float64(total-remaining) / float64(total)
	}
	if elapsed := now.Sub(w.began).Seconds(); elapsed > 0.1 {
		p.Rate = float64(total-remaining) / elapsed
	}
	if p.Rate > 0 {
		p.ETA = time.Duration(float64(remaining) / p.Rate * float64(time.Second))
	}
	w.opening.Store(p)
	if now.Sub(w.lastLogged) >= logEvery {
		w.lastLogged = now
		w.log.Info("partition is being rebuilt", "partition", w.Number, "position", position, "until", w.plan.Until,
			"done", p.Done, "records_per_second", int64(p.Rate), "eta", p.ETA.Round(time.Second))
	}
}
