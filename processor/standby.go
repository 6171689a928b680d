package processor

import (
	"time"

	"github.com/tidemark/tidemark/projections"
)

// What a worker does as a standby: it folds a partition that another member owns, publishes nothing and commits nothing,
// and its store is written like an owner's. It is opened like any other, and stays in the silent part of an opening until
// it is promoted.
//
// The invariant: a standby folds no further than the group's committed offsets. So everything that it has folded was
// published by whoever committed it, and when it is promoted it is where a partition is whose store was a little behind:
// it folds in silence up to the offsets that are committed then, and what comes after them it publishes. What the old
// owner has published beyond its last commit is published again, with the same bytes.

// receiveStanding takes what is new for a standby.
func (w *worker) receiveStanding(now time.Time, n *news) {
	if n.until != nil && w.standing {
		w.follow(*n.until)
	}
	if n.promoted != nil && w.standing {
		w.promote(now, n.promoted)
	}
}

// follow lets a standby fold up to the group's offsets. Offsets that are behind it in any input are not followed: what
// it holds then was published by somebody else than who commits now, and what both together say by nobody.
func (w *worker) follow(committed projections.Position) {
	if committed.Dominates(w.plan.until) {
		w.plan.until = committed
		w.limit(&committed)
	}
}

// promote makes a standby an owner that opens. The store stays open, and what was fetched is kept.
func (w *worker) promote(now time.Time, o *order) {
	position := w.fold.Position()
	w.standing = false
	w.plan, w.goal = o.plan, o.plan.until
	w.plan.from = position
	if !o.plan.published {
		w.plan.until = position // nothing is left that was published before: the silence ends here
	}
	w.limit(&w.plan.until)
	for i := range w.merge.streams {
		s := &w.merge.streams[i]
		s.end = max(s.end, o.ends[i])
		w.ends[i].Store(s.end)
	}
	w.began, w.lastSaid = now, now
	w.setState(StateOpening)
	remaining, _ := w.plan.remaining(position)
	w.log.Info("standby becomes the owner", "partition", w.number, "position", position, "until", w.plan.until, "records", remaining)
}

// planStandby is how a standby starts whose store is at the position stored. It refuses what planOpening refuses. While
// the group has committed nothing there is nothing to follow, and ok is false.
func planStandby(plan opening, stored projections.Position, h history) (_ opening, ok bool) {
	for _, c := range h.committed {
		if c < 0 {
			return plan, false
		}
	}
	plan.from, plan.until, plan.published = stored, stored, true
	if h.committed.Dominates(stored) {
		plan.until = h.committed
	}
	return plan, true
}
