package projections

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// pageLen is the number of members, in the order of their first join, that are stored in one record.
const pageLen = 64

// memberList holds what a channel of more than inlineMembers members needs besides.
type memberList struct {
	rows    []uint32
	pages   []pageState // page 1 and up; page 0 is in the channel
	present []uint32    // rows of present members, while present is kept
	kept    bool
}

type pageState struct {
	hash   [2]uint64
	dirty  bool
	stored bool
}

func (p *Partition) joined(ci uint32, c *channel, m *events.Message) Outcome {
	any := false
	for _, id := range m.IDs {
		ref, r := p.ensureRow(ci, p.ensureUser(id))
		if r.flags&rowMember != 0 {
			continue
		}
		any = true
		if r.ord == noOrdinal {
			p.dropGuest(ref, r)
			p.giveOrdinal(c, ref)
		}
		r.flags |= rowMember
		r.base = c.headSeq
		if m.CountHistory {
			r.base = 0
		}
		p.joinedAt(ref, r, c.headSeq)
		p.queuedIn(c, ref, r)
		c.members++
		p.memberChanged(c, ref, true)
		p.touchRow(ref, r)
		p.emit(ref)
		p.emitFollows(r)
	}
	return p.membership(ci, c, any)
}

func (p *Partition) left(ci uint32, c *channel, m *events.Message) Outcome {
	any := false
	for _, id := range m.IDs {
		u := p.userOf(id)
		if u == 0 {
			continue
		}
		ref := p.rowOf(ci, u)
		if ref == 0 || p.rows.at(ref).flags&rowMember == 0 {
			continue
		}
		any = true
		r := p.rows.at(ref)
		p.leftAt(ref, r, c.headSeq)
		r.flags &^= rowMember
		r.base = 0
		c.members--
		p.memberChanged(c, ref, false)
		p.touchRow(ref, r)
		p.emit(ref)
		p.emitFollows(r)
	}
	return p.membership(ci, c, any)
}

// membership turns the channel large or small after its member count changed (DESIGN §2).
func (p *Partition) membership(ci uint32, c *channel, any bool) Outcome {
	if !any {
		return OutcomeDuplicate
	}
	limit := uint64(p.settings.FanoutLimit)
	n := uint64(c.members)
	was := c.flags & chLarge
	switch {
	case n > limit || limit == 0:
		c.flags |= chLarge
	case n*100 <= limit*80:
		c.flags &^= chLarge
	}
	if c.flags&chLarge != was {
		p.eachMember(c, func(ref uint32, r *row) {
			p.emit(ref)
			p.queuedIn(c, ref, r)
		})
	}
	p.emitChannel(ci, c)
	return OutcomeApplied
}

// giveOrdinal makes a member of a row, on the user's first join.
func (p *Partition) giveOrdinal(c *channel, i uint32) {
	r := p.rows.at(i)
	r.ord = c.ords
	p.setMember(c, r.ord, i)
	c.ords++
}

func (p *Partition) setMember(c *channel, ord, ref uint32) {
	if ord < inlineMembers {
		c.first[ord] = ref
		return
	}
	if c.more == 0 {
		p.memberLists = append(p.memberLists, &memberList{})
		c.more = uint32(len(p.memberLists) - 1)
	}
	l := p.memberLists[c.more]
	k := int(ord - inlineMembers)
	for len(l.rows) <= k {
		l.rows = append(l.rows, 0)
	}
	l.rows[k] = ref
	for int(ord/pageLen) > len(l.pages) {
		l.pages = append(l.pages, pageState{})
	}
}

// member returns the row with ordinal ord; the user may have left.
func (p *Partition) member(c *channel, ord uint32) uint32 {
	if ord < inlineMembers {
		return c.first[ord]
	}
	return p.memberLists[c.more].rows[ord-inlineMembers]
}

// eachMember calls fn for every present member. Its cost is proportional to the present members, not to those who ever
// joined.
func (p *Partition) eachMember(c *channel, fn func(ref uint32, r *row)) {
	if c.more == 0 {
		for ord := range c.ords {
			if r := p.rows.at(c.first[ord]); r.flags&rowMember != 0 {
				fn(c.first[ord], r)
			}
		}
		return
	}
	l := p.memberLists[c.more]
	if !l.kept {
		l.present = l.present[:0]
		for ord := range c.ords {
			if ref := p.member(c, ord); p.rows.at(ref).flags&rowMember != 0 {
				l.present = append(l.present, ref)
			}
		}
		l.kept = true
	}
	for _, ref := range l.present {
		fn(ref, p.rows.at(ref))
	}
}

// memberChanged keeps the list of present members. Large channels do without: nobody goes through their members, and
// a leaver would cost a search.
func (p *Partition) memberChanged(c *channel, ref uint32, joined bool) {
	if c.more == 0 {
		return
	}
	l := p.memberLists[c.more]
	switch {
	case !l.kept:
	case c.flags&chLarge != 0:
		l.kept, l.present = false, nil
	case joined:
		l.present = append(l.present, ref)
	default:
		if i := slices.Index(l.present, ref); i >= 0 {
			l.present = slices.Delete(l.present, i, i+1)
		}
	}
}
