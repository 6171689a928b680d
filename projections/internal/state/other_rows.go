package state

import (
	"iter"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// OtherRows lists the rows of a channel that have no ordinal: of users who never joined, and of users
// in the channel's threads. A deleted channel has no others.
type OtherRows struct{ refs []uint32 }

// HeapBytes returns the memory of the list.
func (l *OtherRows) HeapBytes() int64 {
	return arena.ObjectBytes[OtherRows]() + arena.ListBytes(l.refs)
}

// A row's place is its ordinal, or unordered plus its index in OtherRows.
const unordered = 1 << 31

// Ord returns the ordinal of a user who ever joined, or NoOrdinal.
func (r *Row) Ord() uint32 {
	if r.place&unordered != 0 {
		return NoOrdinal
	}
	return r.place
}

// OthersOf returns the rows of a channel without an ordinal. The caller must not change it.
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
	if l.refs = l.refs[:len(l.refs)-1]; len(l.refs) == 0 {
		p.OtherRows.Drop(c.Others)
		c.Others = 0
	}
}

// RowsOf calls yield for all rows of a channel: members, former members, then the others.
func (p *State) RowsOf(c *Channel) iter.Seq2[uint32, *Row] {
	return func(yield func(uint32, *Row) bool) {
		lists := [...][]uint32{c.first[:min(c.Ords, InlineMembers)], nil, p.OthersOf(c)}
		if c.More != 0 {
			l := p.MemberLists.At(c.More)
			lists[1] = l.Rows[:min(len(l.Rows), int(max(c.Ords, InlineMembers)-InlineMembers))]
		}
		for _, refs := range lists {
			for _, ref := range refs {
				if ref != 0 && !yield(ref, p.Rows.At(ref)) {
					return
				}
			}
		}
	}
}

// TakeRow removes one of the channel's rows from its lists and returns it, or 0 if none is left. It
// leaves the channel's other data as it is.
func (p *State) TakeRow(c *Channel) uint32 {
	if others := p.OthersOf(c); len(others) > 0 {
		ref := others[len(others)-1]
		p.UnlistOther(c, ref)
		return ref
	}
	for c.Ords > 0 {
		c.Ords--
		if ref := p.MemberRow(c, c.Ords); ref != 0 {
			return ref
		}
	}
	return 0
}

// Disband takes the ordinals of a channel's members.
func (p *State) Disband(c *Channel) {
	for ord := range c.Ords {
		p.listOther(c, p.MemberRow(c, ord))
	}
	if c.More != 0 {
		p.MemberLists.Drop(c.More)
	}
	c.Ords, c.More = 0, 0
}
