package steps

import (
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/projections"
)

// NotLive returns why a worker has no live projections.
func (w *Worker) NotLive() error {
	if err := w.Failure.Load(); err != nil {
		return *err
	}
	if w.Life.State().Opens() {
		return life.ErrOpening
	}
	return life.ErrNotOwner
}

// Status returns the partition's status.
func (w *Worker) Status() life.Status {
	s := life.Status{Partition: w.Number, State: w.Life.State(), Position: w.Progress.At()}
	for i := range s.Ends {
		s.Ends[i] = max(w.ends[i].Load(), s.Position[i])
		s.Lag[i] = s.Ends[i] - s.Position[i]
	}
	o := w.opening.Load()
	if o == nil {
		o = w.Home.Progress.Load()
	}
	if o != nil && s.State.Opens() {
		s.Progress, s.Rate, s.ETA, s.Restoring = o.Done, o.Rate, o.ETA, o.Bytes
	}
	if s.State == life.Live || s.State == life.Stopping {
		s.Progress = 1
	}
	s.Full = w.Home.Space.Reason()
	if err := w.Failure.Load(); err != nil {
		s.State, s.Err = life.Failed, *err
		if at := w.retryAt.Load(); at != nil {
			s.Retry = *at
		}
	}
	return s
}

// Stats returns the statistics of a partition if it is still live.
func (w *Worker) Stats(part *projections.Partition) (s projections.Stats, d projections.Disk, live bool) {
	part.RLock()
	defer part.RUnlock()
	defer part.TimeHold("stats")()
	if w.Live.Load() != part {
		return s, d, false
	}
	if w.cfg.Planted != nil {
		w.cfg.Planted("stats")
	}
	return part.Stats(), part.Disk(), true
}

// LagSeconds returns the age of the last folded record of an input if there are more, else 0.
func (w *Worker) LagSeconds(in events.Input, lag int64, now time.Time) float64 {
	if last := w.lastTime[in].Load(); lag > 0 && last > 0 {
		return max(now.Sub(time.UnixMilli(last)).Seconds(), 0)
	}
	return 0
}
