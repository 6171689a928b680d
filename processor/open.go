package processor

import (
	"fmt"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// none is the committed offset of an input for which the group has none.
const none = -1

// history is what the cluster knows of a partition when it is opened.
type history struct {
	start, end projections.Position // first offset that is still there; the one after the last that may be read
	committed  projections.Position // the group's offsets, or none
}

// opening is how a partition is opened: it starts at from, which is the store's position, and folds without publishing up
// to until; then it is live.
type opening struct {
	from, until projections.Position
	// published says that all up to until was published by whoever committed it. Else it is published again, which is
	// harmless: deltas are absolute and stamped.
	published bool
	// begun says that nothing was ever folded here and the log does not begin at offset 0.
	begun bool
}

// planOpening decides how a partition whose store is at the position stored is opened (DESIGN §6). It is the one path
// for first start, restart, rebalance and rebuild: only what stored is differs.
//
// It refuses to leave a gap. A partition that was never folded by this group starts where its logs do; any other goes
// on where its store is, and if the log no longer reaches back to that, or not that far, nothing else would be right.
func planOpening(number int32, topics *[events.NumInputs]string, stored projections.Position, h history) (opening, error) {
	o := opening{from: stored, until: stored}
	first := stored == projections.Position{}
	for i := range h.committed {
		first = first && h.committed[i] == none
	}
	if first {
		o.begun = h.start != projections.Position{}
		o.from, o.until = h.start, h.start
		return o, nil
	}
	behind, ahead := false, false
	for i, topic := range topics {
		committed := max(h.committed[i], 0)
		switch {
		case stored[i] < h.start[i]:
			return o, fmt.Errorf("%s/%d: the log begins at offset %d, and the store at %d: records %d to %d are gone, and without "+
				"them counts would be wrong; bring back a store or snapshot that is at %d or later, or reset the group's offsets and "+
				"remove the store to begin anew at the start of the log", topic, number, h.start[i], stored[i],
				stored[i], h.start[i]-1, h.start[i])
		case stored[i] > h.end[i]:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d, and the store is already at %d: the log has lost records that "+
				"were folded; if the log is right, remove the store and the group's offsets to rebuild from it", topic, number,
				h.end[i], stored[i])
		case committed > h.end[i]:
			return o, fmt.Errorf("%s/%d: the log ends at offset %d, and the group has committed %d: the log has lost records whose "+
				"changes were published; if the log is right, remove the group's offsets to go on from it", topic, number,
				h.end[i], committed)
		}
		behind = behind || stored[i] < committed
		ahead = ahead || stored[i] > committed
		o.until[i] = max(stored[i], committed)
	}
	// Neither before nor after what was committed: two members have folded this partition at the same time, one left
	// this store and the other those offsets. Nobody has published what both together say.
	o.published = behind && !ahead
	if ahead && !behind {
		o.until = stored
	}
	return o, nil
}

// reached reports whether position has come to until.
func (o *opening) reached(position projections.Position) bool {
	for i := range position {
		if position[i] < o.until[i] {
			return false
		}
	}
	return true
}

// remaining is how many offsets lie between position and until, and total how many did at first.
func (o *opening) remaining(position projections.Position) (remaining, total int64) {
	for i := range position {
		remaining += max(o.until[i]-position[i], 0)
		total += max(o.until[i]-o.from[i], 0)
	}
	return remaining, total
}
