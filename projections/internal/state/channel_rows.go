package state

import "iter"

// RowsOf returns an iterator over all rows of a channel, with their references: first those with an
// ordinal, in its order, then the others. The caller must not add or remove rows meanwhile.
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

// TakeRow takes one row out of the channel's lists and returns its reference, or 0 if none is left. It
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

// Disband takes the ordinals away from a channel's rows. OtherRows then lists all of them.
func (p *State) Disband(c *Channel) {
	for ord := range c.Ords {
		p.listOther(c, p.MemberRow(c, ord))
	}
	if c.More != 0 {
		p.MemberLists.Drop(c.More)
	}
	c.Ords, c.More = 0, 0
}
