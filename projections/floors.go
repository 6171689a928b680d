package projections

import (
	"cmp"
	"slices"
)

// A mark that was applied while its head is still open leaves a floor behind (suffix.go): it says up to where own
// posts do not lift the pointer, which the timeline has yet to decide.

// floorSpec is the head of an applied mark that is still open: by time (own posts at or before it are below the floor)
// or by seq.
type floorSpec struct {
	by      uint8
	val     int64 // time, or seq
	horizon int64
}

// headAt is the seq up to which own posts are before a mark with this head, and whether that is final. While it is
// not, it is the channel's head.
func (p *Partition) headAt(c *channel, f floorSpec) (uint32, bool) {
	lapsed := p.logTime > f.horizon
	if f.by == bySeq {
		if int64(c.headSeq) < f.val && !lapsed {
			return c.headSeq, false
		}
		if c.logTime <= f.horizon {
			return uint32(min(f.val, int64(c.headSeq))), true
		}
		return min(uint32(min(f.val, 1<<32-1)), p.seqAt(c, 1<<63-1, f.horizon)), true
	}
	if (c.headSeq > 0 && c.time > f.val) || lapsed {
		return p.seqAt(c, f.val, f.horizon), true
	}
	return c.headSeq, false
}

// settleFloors closes the floors that the timeline has decided.
func (p *Partition) settleFloors(c *channel, b *base, x *exc) bool {
	if len(x.floors) == 0 {
		return false
	}
	open := x.floors[:0]
	top := uint32(0)
	for _, f := range x.floors {
		if seq, final := p.headAt(c, f); final {
			top = max(top, seq)
		} else {
			open = append(open, f)
		}
	}
	changed := len(open) != len(x.floors)
	x.floors = open
	if len(open) == 0 {
		b.floorH = max(b.floorH, top)
	}
	return changed
}

// addFloor raises the floor to the mark's head, or notes that it is still open.
func (p *Partition) addFloor(b *base, x *exc, h *held) {
	if b.floorH == noOwn {
		return
	}
	if h.head {
		if len(x.floors) == 0 {
			b.floorH = max(b.floorH, h.headSeq)
		}
		return
	}
	f := floorSpec{h.headBy, h.headVal(), h.horizon}
	b.floorH = 0
	for _, o := range x.floors {
		if o.by == f.by && o.val >= f.val && o.horizon >= f.horizon {
			return
		}
	}
	x.floors = slices.DeleteFunc(x.floors, func(o floorSpec) bool {
		return o.by == f.by && o.val <= f.val && o.horizon <= f.horizon
	})
	x.floors = append(x.floors, f)
	slices.SortFunc(x.floors, func(a, b floorSpec) int {
		return cmp.Or(cmp.Compare(a.by, b.by), cmp.Compare(a.val, b.val), cmp.Compare(a.horizon, b.horizon))
	})
}
