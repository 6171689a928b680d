package pending

import (
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A mark that is applied while its head is still open leaves a floor behind (suffix.go). Own posts
// up to the floor do not lift the pointer; later timeline decides where the floor is.

// headAt returns the last seq that is before a mark with this head, and whether it is final. Until
// it is final, headAt returns the channel's head.
func (p *Fold) headAt(c *state.Channel, f held.Floor) (uint32, bool) {
	lapsed := p.MessageTime > f.Horizon
	if f.By == held.BySeq {
		if int64(c.HeadSeq) < f.Val && !lapsed {
			return c.HeadSeq, false
		}
		if c.LogTime <= f.Horizon {
			return uint32(min(f.Val, int64(c.HeadSeq))), true
		}
		return min(uint32(min(f.Val, 1<<32-1)), p.SeqAt(c, 1<<63-1, f.Horizon)), true
	}
	if (c.HeadSeq > 0 && c.Time > f.Val) || lapsed {
		return p.SeqBefore(c, f.Val, f.Horizon, f.Now), true
	}
	return c.HeadSeq, false
}

// keepsHead reports whether own posts below the head of a mark, as it is now, stay below it.
func (p *Fold) keepsHead(h *held.Event) bool {
	return h.Head || h.HeadBy != held.ByTime || p.KeepsReach(h.At, h.Now)
}

// openFloor returns how far the open floors of a pair reach, or 0.
func (p *Fold) openFloor(c *state.Channel, x *state.PairExtra) (to uint32) {
	for _, f := range x.Floors {
		seq, _ := p.headAt(c, f)
		to = max(to, seq)
	}
	return to
}

// settleFloors closes the floors that the timeline has decided.
func (p *Fold) settleFloors(c *state.Channel, b *base, x *state.PairExtra) bool {
	if len(x.Floors) == 0 {
		return false
	}
	open := x.Floors[:0]
	top := uint32(0)
	for _, f := range x.Floors {
		if seq, final := p.headAt(c, f); final {
			top = max(top, seq)
		} else {
			open = append(open, f)
		}
	}
	changed := len(open) != len(x.Floors)
	x.Floors = open
	if len(open) == 0 {
		b.floorH = max(b.floorH, top)
	}
	return changed
}

// addFloor raises the floor to the mark's head, or records an open floor.
func (p *Fold) addFloor(b *base, x *state.PairExtra, h *held.Event) {
	if b.floorH == state.NoOwn {
		return
	}
	if h.Head {
		if len(x.Floors) == 0 {
			b.floorH = max(b.floorH, h.HeadSeq)
		}
		return
	}
	f := h.Floor(p.Settings.TrimLog)
	b.floorH = 0
	for _, o := range x.Floors {
		if o.By == f.By && o.Val >= f.Val && o.Horizon >= f.Horizon && o.Now <= f.Now {
			return
		}
	}
	x.Floors = slices.DeleteFunc(x.Floors, func(o held.Floor) bool {
		return o.By == f.By && o.Val <= f.Val && o.Horizon <= f.Horizon && o.Now >= f.Now
	})
	x.Floors = append(x.Floors, f)
	slices.SortFunc(x.Floors, func(a, b held.Floor) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Val, b.Val), cmp.Compare(a.Horizon, b.Horizon), cmp.Compare(a.Now, b.Now))
	})
}
