package state

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/held"
)

// WaitsForSeq reports whether a held mark may be provisional.
func (x *PairExtra) WaitsForSeq() bool {
	return slices.ContainsFunc(x.Unsettled, func(h held.Event) bool {
		return h.Kind == held.KindMark && !h.Closed && h.By == held.ByID && h.Seq != 0
	})
}

// OpenInTime reports whether a held time target may still reach messages. In a small channel, each
// message that it reaches is published. In a large channel, a delta is published when the target
// closes, whatever was published before.
func (x *PairExtra) OpenInTime() bool {
	return slices.ContainsFunc(x.Unsettled, func(h held.Event) bool { return h.Kind == held.KindRead && h.By == held.ByTime && !h.Closed })
}

// NoOwn as a row's OwnFloor means that its user was erased: no own post ever lifts the pointer
// again. It is above all seqs, so floors of marks have no effect.
const NoOwn = ^uint32(0)

// Erased reports whether the row's user was erased in its channel.
func (p *State) Erased(r *Row) bool { return p.RareOf(r).OwnFloor == NoOwn }

// EpochEnded reports whether a mark has ended the epoch that a read states, so that the read is
// stale. A read that states no epoch (0) is never stale.
func (p *State) EpochEnded(r *Row, epoch uint32) bool {
	return epoch != 0 && epoch < p.RareOf(r).Marks+1
}

// Erase removes what the user did with a thread. As after an explicit unfollow, nothing makes the
// user follow automatically any more.
func (f *Follow) Erase() {
	f.Flags = FollowStopped
	f.ExplicitTime, f.ExplicitHorizon, f.ExplicitAt, f.ExplicitNow, f.Closed = 0, 0, 0, 0, 0
}

// Idle reports whether a guest's row has no content. Such a row has no record.
func (p *State) Idle(r *Row) bool { return r.idle(*p.RareOf(r)) }

// Strip removes all that a row of a deleted channel has, but its place in the lists.
func (r *Row) Strip() {
	*r = Row{Channel: r.Channel, User: r.User, place: r.place, NextUser: r.NextUser, Rare: r.Rare, shown: r.shown,
		Flags: r.Flags & (RowChanged | RowCheck | RowThread | RowColdListed | RowListed)}
}

// IdleErased is Idle for a row that may be erased.
func (p *State) IdleErased(r *Row) bool {
	x := *p.RareOf(r)
	if p.Erased(r) {
		x.OwnFloor = 0
	}
	return r.idle(x)
}

func (r *Row) idle(x Rare) bool {
	x.Extra, x.Scope, x.PublicAt = 0, 0, 0
	return r.Flags&(RowMember|RowMuted) == 0 && r.Baseline == 0 && r.Pointer == 0 && r.At() == 0 && r.Event() == 0 && r.LastOwn == 0 && x == Rare{}
}

// OpenTo returns how far the open reads with a time target and all bits of this use reach, and the
// earliest time of those that reach that far, or past if that is not 0.
func (p *State) OpenTo(c *Channel, x *PairExtra, use uint8, past uint32) (seq uint32, earliest int64, ok bool) {
	if x == nil {
		return 0, 0, false
	}
	for i := range x.OpenReads {
		h := &x.OpenReads[i]
		if h.Use&use != use || h.By != held.ByTime {
			continue
		}
		to := c.HeadSeq
		switch {
		case to < past:
		case !ok, past == 0 && to > seq:
			seq, earliest, ok = to, h.At, true
		case past != 0 || to == seq:
			seq, earliest = max(seq, to), min(earliest, h.At)
		}
	}
	return seq, earliest, ok
}

// Spent reports whether the row no longer needs own posts that are kept in memory.
func (x *PairExtra) Spent(r *Row) bool {
	return x.ownSpent(r) || x.readsSpent()
}

func (x *PairExtra) ownSpent(r *Row) bool { return x.OwnKept && r.LastOwn <= r.Pointer }

func (x *PairExtra) readsSpent() bool {
	return x.Read != nil && x.Read.Kept != nil && len(x.Unsettled) == 0
}

// Forget drops what Spent reports.
func (x *PairExtra) Forget(r *Row) {
	if x.ownSpent(r) {
		x.Own, x.OwnKept = nil, false
	}
	if x.readsSpent() {
		x.Read.Kept = nil
	}
}

// Holds reports whether some events of the user are not in the base yet.
func (x *PairExtra) Holds() bool { return x != nil && len(x.Unsettled)+len(x.Floors) > 0 }

// Waits reports whether log time alone can change anything in it.
func (x *PairExtra) Waits() bool {
	return x != nil && len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) > 0
}

// Peek loads the memory that its queries read first.
func (x *PairExtra) Peek() uint64 {
	return x.Mentions.Peek() + x.Singles.Peek() +
		uint64(len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries))
}

// pairHash returns the hash of a row in the table of pairs.
func (p *State) pairHash(ref uint32) uint64 {
	r := p.Rows.At(ref)
	if r.Flags&RowThread != 0 {
		return arena.PairHash(^p.FollowOf(r).Thread, r.User)
	}
	return arena.PairHash(r.Channel, r.User)
}
