package state

import "github.com/tidemark/tidemark/projections/internal/arena"

// OtherRows lists the rows of a channel that have no ordinal: those of guests, and those of users in the
// channel's threads. Of a deleted channel it lists all rows.
type OtherRows struct{ refs []uint32 }

// HeapBytes returns the memory of the list.
func (l *OtherRows) HeapBytes() int64 {
	return arena.ObjectBytes[OtherRows]() + arena.ListBytes(l.refs)
}

// A row's place is its ordinal, unordered plus its index in OtherRows, or NoOrdinal while it is in no
// list.
const unordered = 1 << 31

// Ord returns the ordinal of a user who ever joined, or NoOrdinal.
func (r *Row) Ord() uint32 {
	if r.place&unordered != 0 {
		return NoOrdinal
	}
	return r.place
}

// OthersOf returns the rows of a channel without an ordinal. The caller must not change the
// slice, which is valid until a row is listed or unlisted.
func (p *State) OthersOf(c *Channel) []uint32 {
	if c.Others == 0 {
		return nil
	}
	return p.OtherRows.At(c.Others).refs
}

// listOther adds a row without an ordinal to its channel's list.
func (p *State) listOther(c *Channel, ref uint32) {
	if c.Others == 0 {
		c.Others = p.OtherRows.Put(&OtherRows{})
	}
	l := p.OtherRows.At(c.Others)
	p.Rows.At(ref).place = unordered | uint32(len(l.refs))
	l.refs = append(l.refs, ref)
}

// UnlistOther removes a row from the list of its channel's rows without an ordinal, if it is there.
func (p *State) UnlistOther(c *Channel, ref uint32) {
	r := p.Rows.At(ref)
	if r.place&unordered == 0 || r.place == NoOrdinal {
		return
	}
	l := p.OtherRows.At(c.Others)
	at, last := r.place&^unordered, l.refs[len(l.refs)-1]
	l.refs[at], p.Rows.At(last).place = last, unordered|at
	r.place = NoOrdinal
	const small = 64
	switch l.refs = l.refs[:len(l.refs)-1]; {
	case len(l.refs) == 0:
		p.OtherRows.Drop(c.Others)
		c.Others = 0
	case cap(l.refs) > small && len(l.refs) < cap(l.refs)/4:
		l.refs = append(make([]uint32, 0, cap(l.refs)/2), l.refs...)
	}
}
