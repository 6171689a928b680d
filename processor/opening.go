package processor

import (
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// openingProgress is how far a partition that opens has come.
type openingProgress struct {
	done, rate float64 // share from 0 to 1; records a second, or bytes
	bytes      bool    // a snapshot is being restored
	eta        time.Duration
}

// start begins to fold. The store is open and nothing was fetched yet.
func (w *worker) start(now time.Time, o opening, ends projections.Position) {
	w.plan = o
	w.merge = newMerger(w.cfg.MergeWait)
	w.breaker = newBreaker(w.cfg.Breaker)
	w.began, w.lastSaid, w.lastCut, w.lastFull = now, now, now, now
	for i := range o.from {
		w.merge.streams[i].next = o.from[i]
		w.merge.streams[i].end = ends[i]
		w.ends[i].Store(ends[i])
	}
	w.stored = w.fold.StoredPosition()
	if o.begun {
		w.fold.Lock()
		for i := range o.from {
			w.fold.Skip(events.Input(i), o.from[i])
		}
		w.fold.Unlock()
		w.log.Warn("nothing was folded here before, and the logs do not begin at offset 0: counts are those of what is there",
			"partition", w.number, "position", o.from)
	}
	w.acked = w.fold.Position()
	w.progress.advance(w.fold.Position())
	w.silent, w.goal = o.published || w.standing, o.until
	if w.silent {
		w.limit(&o.until)
	}
	w.quiet()
	remaining, _ := o.remaining(w.fold.Position())
	w.log.Info("partition opens", "partition", w.number, "position", w.fold.Position(), "until", o.until,
		"records", remaining, "silent", w.silent)
	if !w.silent {
		w.speak(now, o.until)
	}
}

// advanceOpening moves a silent partition on: over gaps before its goal, and once it is there, to the end of the silence.
// Nothing beyond the goal has been folded then, so that what was drained for nobody is exactly what was published before.
func (w *worker) advanceOpening(now time.Time) {
	position := w.fold.Position()
	w.fold.Lock()
	for i := range w.merge.streams {
		s := &w.merge.streams[i]
		// The next record, or the end of what was fetched, is past the goal: what is missing in between is gone from the log.
		past := s.atHand() && s.head() == nil || s.allOut() && s.next >= w.plan.until[i]
		if position[i] < w.plan.until[i] && past {
			w.fold.Skip(events.Input(i), w.plan.until[i])
		}
	}
	position = w.fold.Position()
	w.fold.Unlock()
	w.progress.advance(position)
	if w.standing {
		return
	}
	if !w.there() {
		w.report(now, position)
		return
	}
	if w.flight != nil {
		return
	}
	w.drain(now, true, true, false)
	if w.stopping == stopNone {
		w.speak(now, w.goal)
	}
}

// speak ends the silence: what is folded from here on is published. The partition is live when it has come to goal, which
// is beyond its position only where two owners at the same time have left a store and a commit of which neither is before
// the other. It is not to answer with less than what readers may have seen.
func (w *worker) speak(now time.Time, goal projections.Position) {
	w.silent = false
	w.quiet()
	w.limit(nil)
	w.plan.until = goal
	w.arrive(now)
}

// quiet lets the fold know whether anybody is told. Everything is drained.
func (w *worker) quiet() {
	w.fold.Lock()
	defer w.fold.Unlock()
	w.fold.Quiet(w.silent)
}

// arrive makes a partition that opens and is not silent live once it has come to its goal.
func (w *worker) arrive(now time.Time) {
	if w.there() {
		w.goLive(now)
	} else {
		w.report(now, w.fold.Position())
	}
}

// there reports whether a partition that opens has come to where it is to be.
func (w *worker) there() bool { return w.plan.reached(w.fold.Position()) }

func (w *worker) goLive(now time.Time) {
	w.opening.Store(nil)
	w.live.Store(w.fold.projection())
	w.setState(StateLive)
	w.log.Info("partition is live", "partition", w.number, "position", w.fold.Position(), "after", now.Sub(w.began))
}

// sayEvery is how often the progress of an opening is logged.
const sayEvery = 5 * time.Second

func (w *worker) report(now time.Time, position projections.Position) {
	remaining, total := w.plan.remaining(position)
	p := &openingProgress{}
	if total > 0 {
		p.done = float64(total-remaining) / float64(total)
	}
	if elapsed := now.Sub(w.began).Seconds(); elapsed > 0.1 {
		p.rate = float64(total-remaining) / elapsed
	}
	if p.rate > 0 {
		p.eta = time.Duration(float64(remaining) / p.rate * float64(time.Second))
	}
	w.opening.Store(p)
	if now.Sub(w.lastSaid) >= sayEvery {
		w.lastSaid = now
		w.log.Info("partition is being rebuilt", "partition", w.number, "position", position, "until", w.plan.until,
			"done", p.done, "records_per_second", int64(p.rate), "eta", p.eta.Round(time.Second))
	}
}
