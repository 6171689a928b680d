package state

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// MemberList holds the rest of the data of a channel with more than InlineMembers members.
type MemberList struct {
	Rows    []uint32
	pages   *[]PageState // nil: none
	present *[]uint32    // rows of present members, nil unless the channel is small and a member has left
}

// Pages returns the states of page 1 and up; that of page 0 is in the channel.
func (l *MemberList) Pages() []PageState {
	if l.pages == nil {
		return nil
	}
	return *l.pages
}

// PageState describes the stored record of a page of members.
type PageState struct {
	Hash   [2]uint64
	Dirty  bool
	Stored bool
}

// GiveOrdinal makes a row a member, on the user's first join.
func (p *State) GiveOrdinal(c *Channel, i uint32) {
	p.PlaceMember(c, c.Ords, i)
	c.Ords++
}

// PlaceMember makes a row the member with an ordinal.
func (p *State) PlaceMember(c *Channel, ord, ref uint32) {
	p.UnlistOther(c, ref)
	p.Rows.At(ref).place = ord
	if ord < InlineMembers {
		c.first[ord] = ref
		return
	}
	if c.More == 0 {
		c.More = p.MemberLists.Put(&MemberList{})
	}
	l := p.MemberLists.At(c.More)
	k := int(ord - InlineMembers)
	if k >= cap(l.Rows) { // append would double it
		l.Rows = append(make([]uint32, 0, k+max(8, k/8)), l.Rows...)
	}
	l.Rows = l.Rows[:max(len(l.Rows), k+1)]
	l.Rows[k] = ref
	for int(ord/keys.PageLen) > len(l.Pages()) {
		if l.pages == nil {
			l.pages = new([]PageState)
		}
		*l.pages = append(*l.pages, PageState{})
	}
}

// MemberRow returns the row with ordinal ord; the user may have left.
func (p *State) MemberRow(c *Channel, ord uint32) uint32 {
	if ord < InlineMembers {
		return c.first[ord]
	}
	return p.MemberLists.At(c.More).Rows[ord-InlineMembers]
}

// EachMember calls fn for every present member. Its cost is proportional to the present members,
// not to all who ever joined.
func (p *State) EachMember(c *Channel, fn func(ref uint32, r *Row)) {
	if c.More == 0 {
		p.eachPresent(c.first[:c.Ords], fn)
		return
	}
	l := p.MemberLists.At(c.More)
	if c.Members == c.Ords { // nobody who ever joined is absent
		p.eachPresent(c.first[:], fn)
		p.eachPresent(l.Rows, fn)
		return
	}
	if l.present == nil {
		l.present = new([]uint32)
		for ord := range c.Ords {
			if ref := p.MemberRow(c, ord); p.Rows.At(ref).Flags&RowMember != 0 {
				*l.present = append(*l.present, ref)
			}
		}
	}
	p.eachPresent(*l.present, fn)
}

func (p *State) eachPresent(refs []uint32, fn func(ref uint32, r *Row)) {
	for _, ref := range refs {
		if r := p.Rows.At(ref); r.Flags&RowMember != 0 {
			fn(ref, r)
		}
	}
}

// MemberChanged updates the list of present members. Large channels have no such list: nothing
// iterates over their members, and each leaver would cost a search.
func (p *State) MemberChanged(c *Channel, ref uint32, joined bool) {
	if c.More == 0 {
		return
	}
	l := p.MemberLists.At(c.More)
	switch {
	case l.present == nil:
	case c.Flags&ChannelLarge != 0:
		l.present = nil
	case joined:
		*l.present = append(*l.present, ref)
	default:
		if i := slices.Index(*l.present, ref); i >= 0 {
			*l.present = slices.Delete(*l.present, i, i+1)
		}
	}
}

// PageHash returns the hash of the stored record of a page.
func (p *State) PageHash(c *Channel, page uint32) (hash [2]uint64, stored bool) {
	if page == 0 {
		return c.PageH, c.Dirty&DirtyPage0Stored != 0
	}
	s := &p.MemberLists.At(c.More).Pages()[page-1]
	return s.Hash, s.Stored
}
