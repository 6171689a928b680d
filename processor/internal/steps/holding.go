package steps

import (
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// A store that is ahead of the group's offsets publishes everything again that changed since them,
// because another owner may have published less in the meantime (Partition.Republish). It cannot do
// so for keys that it has forgotten. An example is a deleted channel: another owner that had not
// folded the deletion yet may have published the members' values. So a cut that forgets keys is
// written only after the group has committed its position. From then on every other owner begins
// behind the deletion.
//
// A store that is ahead of the offsets lists all its cold channels before it is live, which takes
// seconds. So cuts beside cold channels wait for the group too, but not for long, and not if the worker
// stops: then the offsets are committed right after.

// pendingCut is an acknowledged cut that waits for the group's offsets.
type pendingCut struct {
	cut setup.Cut // nil: none is held
	at  projections.Position
	is  atomic.Bool

	// A cut that forgets nothing is written at until all the same. A stopping worker gives up a cut
	// that forgets then; until is zero while the worker does not stop.
	until time.Time
}

// pendingCutPatience is how long a cut that forgets nothing waits for the group to commit its position,
// and a stopping worker with a cut that forgets. A commit takes some 100 ms. Without the cut the next
// owner folds its records again.
const pendingCutPatience = time.Second

// write writes the cut of an acknowledged set, at once or when the group has committed its
// position.
func (w *Worker) write(now time.Time, f *flight) {
	w.cutting = true
	waits := f.cut.Forgets() || w.Fold.AnyCold() && w.stopping == inbox.StopNone
	if w.replaying || !waits { // a former owner committed what a replay folds
		w.out.Apply(w, f.cut)
		return
	}
	w.pendingCut.cut, w.pendingCut.at, w.pendingCut.until = f.cut, f.position, time.Time{}
	if !f.cut.Forgets() {
		w.pendingCut.until = now.Add(pendingCutPatience)
	}
	w.pendingCut.is.Store(true) // set before the offsets are read, so that their next change wakes the worker
	w.writePendingCut(now)
}

// writePendingCut writes the held cut if the group has committed its position. A worker that is cut
// off, or whose patience is over, gives the cut up and ends.
func (w *Worker) writePendingCut(now time.Time) {
	h := &w.pendingCut
	switch {
	case h.cut == nil:
		return
	case w.stopping != inbox.StopAbort && (w.out.Committed(w.Number).Dominates(h.at) ||
		!h.cut.Forgets() && (w.stopping == inbox.StopClean || !now.Before(h.until))):
		w.out.Apply(w, h.cut)
	case w.stopping == inbox.StopNone:
		return
	case w.stopping == inbox.StopClean && h.until.IsZero():
		h.until = now.Add(pendingCutPatience)
		return
	case w.stopping == inbox.StopClean && now.Before(h.until):
		return
	default:
		w.cutting, w.stopping = false, inbox.StopAbort
	}
	h.cut = nil
	h.is.Store(false)
}

// wait returns how long a stopping worker may sleep.
func (h *pendingCut) wait(now time.Time) time.Duration {
	if h.cut == nil {
		return time.Hour
	}
	return max(h.until.Sub(now), 0)
}

// OffsetsMoved wakes the worker if it waits for the group's offsets.
func (w *Worker) OffsetsMoved() {
	if w.pendingCut.is.Load() {
		w.Inbox.Poke()
	}
}
