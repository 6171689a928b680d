package steps

import (
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/processor/internal/inbox"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// A store that is ahead of the group's offsets publishes again what changed since them, because
// another owner may have published less in the meantime (Partition.Republish). It cannot do so for
// keys that it has forgotten. An example is a deleted channel: another owner that had not folded
// the deletion yet may have published the members' values. So a cut that forgets keys is written
// once the group has committed its position. Then every other owner begins behind the deletion.

// held is a cut that is acknowledged and waits for the group's offsets.
type held struct {
	cut   setup.Cut // nil: none is held
	at    projections.Position
	until time.Time // of a worker that stops: when it gives up; zero: it does not stop
	is    atomic.Bool
}

// heldPatience is how long a worker that stops waits for the group to commit the position of a held
// cut. A commit takes some 100 ms. Without the cut the next owner folds again what is in it.
const heldPatience = time.Second

// write writes the cut of a set that is acknowledged, at once or when the group has committed it.
func (w *Worker) write(now time.Time, f *flight) {
	w.cutting = true
	if w.replaying || !f.cut.Forgets() { // what replays was committed before
		w.out.Apply(w, f.cut)
		return
	}
	w.held.cut, w.held.at = f.cut, f.position
	w.held.is.Store(true) // before the offsets are looked at: their next change is told
	w.writeHeld(now)
}

// writeHeld writes the held cut if the group has committed its position. A worker that is cut off,
// or whose patience is over, gives the cut up and ends.
func (w *Worker) writeHeld(now time.Time) {
	h := &w.held
	switch {
	case h.cut == nil:
		return
	case w.out.Committed(w.Number).Dominates(h.at) && w.stopping != inbox.StopAbort:
		w.out.Apply(w, h.cut)
	case w.stopping == inbox.StopNone:
		return
	case w.stopping == inbox.StopClean && h.until.IsZero():
		h.until = now.Add(heldPatience)
		return
	case w.stopping == inbox.StopClean && now.Before(h.until):
		return
	default:
		w.cutting, w.stopping = false, inbox.StopAbort
	}
	h.cut = nil
	h.is.Store(false)
}

// wait is how long a worker that stops may sleep.
func (h *held) wait(now time.Time) time.Duration {
	if h.cut == nil {
		return time.Hour
	}
	return max(h.until.Sub(now), 0)
}

// OffsetsMoved wakes the worker if it waits for the group's offsets.
func (w *Worker) OffsetsMoved() {
	if w.held.is.Load() {
		w.Inbox.Poke()
	}
}
