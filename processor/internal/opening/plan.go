package opening

import (
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// History is the cluster's view of a partition when it is opened.
type History struct {
	Start     projections.Position // the first offsets that are still in the logs
	End       projections.Position // the offsets after the last readable ones
	Committed projections.Position // the group's offsets; outputs.None if it has none
}

// never are the offsets of a group that has committed nothing.
var never = projections.Position{outputs.None, outputs.None, outputs.None}

// Written returns the offsets with which the owner can write its producer id into the group's
// metadata without changing what the group has committed. If nothing is committed, these are the
// starts of the complete logs.
func (h *History) Written() projections.Position {
	w := h.Committed
	if w == never {
		for i := range w {
			if h.Start[i] == 0 {
				w[i] = 0
			}
		}
	}
	return w
}

// first reports whether the group has never folded anything. Offset 0 of a complete log may be only
// the place of a producer id (Written).
func (h *History) first() bool {
	for i, committed := range h.Committed {
		if committed != outputs.None && (committed != 0 || h.Start[i] != 0) {
			return false
		}
	}
	return true
}

// Plan states how a partition is opened. The fold begins at From, the store's position, and
// publishes nothing up to Until. Then the partition is live.
type Plan struct {
	From, Until projections.Position
	// Published is true if the member that committed Until has published everything up to there.
	// Otherwise all of it is published again, which is harmless, because deltas are absolute and
	// stamped.
	Published bool
	// Republish is true if the store is ahead of RepublishSince, the committed offsets, because a
	// crash came before the commit. Another owner may have published less than the store has, so
	// all changes since are published again.
	Republish      bool
	RepublishSince projections.Position
	// LogTruncated is true if nothing was ever folded and the logs do not begin at offset 0.
	LogTruncated bool
}

// Decide plans the opening of a partition whose store is at the position stored (DESIGN §6). First
// start, restart, rebalance and rebuild all use it, and differ only in stored.
//
// Decide refuses to leave a gap. A partition that this group has never folded starts where its logs
// begin. Any other one starts at its store's position, and Decide fails if the logs do not cover
// that.
func Decide(number int32, topics *[events.NumInputs]string, stored projections.Position, h History) (Plan, error) {
	o := Plan{From: stored, Until: stored}
	if stored == (projections.Position{}) && h.first() {
		o.LogTruncated = h.Start != projections.Position{}
		o.From, o.Until = h.Start, h.Start
		return o, nil
	}
	behind, ahead, since := false, false, projections.Position{}
	for i, topic := range topics {
		committed := max(h.Committed[i], 0)
		switch {
		case stored[i] < h.Start[i]:
			return o, fmt.Errorf("%s/%d: the log begins at offset %d, and the store at %d: records %d to %d are gone, and without "+
				"them counts would be wrong; bring back a store or snapshot that is at %d or later, or reset the group's offsets and "+
				"remove the store to begin anew at the start of the log", topic, number, h.Start[i], stored[i],
				stored[i], h.Start[i]-1, h.Start[i])
		case stored[i] > h.End[i]:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d, and the store is already at %d: the log has lost records that "+
				"were folded; if the log is right, remove the store and the group's offsets to rebuild from it", topic, number,
				h.End[i], stored[i])
		case committed > h.End[i]:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d, and the group has committed %d: the log has lost records whose "+
				"changes were published; if the log is right, remove the group's offsets to go on from it", topic, number,
				h.End[i], committed)
		}
		behind = behind || stored[i] < committed
		ahead = ahead || stored[i] > committed
		o.Until[i] = max(stored[i], committed)
		since[i] = committed
	}
	// The store is neither before nor after the committed offsets: two members have folded this
	// partition at the same time. One left this store and the other those offsets, and no member
	// has published the combination.
	o.Published = behind && !ahead
	if ahead && h.Committed != never {
		o.Republish, o.RepublishSince = true, since
	}
	if ahead && !behind {
		o.Until = stored
	}
	return o, nil
}

// Reached reports whether position has reached Until.
func (o *Plan) Reached(position projections.Position) bool {
	for i := range position {
		if position[i] < o.Until[i] {
			return false
		}
	}
	return true
}

// Remaining returns how many offsets lie between position and Until, and how many there were at
// first (total).
func (o *Plan) Remaining(position projections.Position) (remaining, total int64) {
	for i := range position {
		remaining += max(o.Until[i]-position[i], 0)
		total += max(o.Until[i]-o.From[i], 0)
	}
	return remaining, total
}

// Behind returns how many offsets position is behind committed.
func Behind(committed, position projections.Position) int64 {
	var n int64
	for i := range committed {
		n += max(committed[i]-position[i], 0)
	}
	return n
}

// Order is the order to start, for a worker whose store is open.
type Order struct {
	Plan    Plan
	Ends    projections.Position
	Standby bool  // begin as a standby
	Err     error // do not begin: the partition fails
}

// DecideStandby returns how a standby starts whose store is at the position stored. It refuses what
// Decide refuses. ok is false while the group has committed nothing, because then there is nothing
// to follow.
func DecideStandby(plan Plan, stored projections.Position, h History) (_ Plan, ok bool) {
	for _, c := range h.Committed {
		if c < 0 {
			return plan, false
		}
	}
	plan.From, plan.Until, plan.Published = stored, stored, true
	if h.Committed.Dominates(stored) {
		plan.Until = h.Committed
	}
	return plan, true
}
