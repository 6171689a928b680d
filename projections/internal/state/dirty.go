package state

import (
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// replace stores val under key, or removes the record if val is empty, whatever the key had before.
func (p *State) replace(key, val []byte) {
	old, ok, err := p.Get(key)
	if err != nil {
		p.Fail(err)
		return
	}
	p.Written.Swap(key, old, ok, val)
}

// TouchChannel marks the channel record as out of date in the store.
func (p *State) TouchChannel(i uint32, c *Channel) {
	c.Dirty |= DirtyChannel
	p.listDirty(i, c)
}

// FirstTouch gives a record to a channel that no record of chat.messages has named yet.
func (p *State) FirstTouch(i uint32, c *Channel) {
	if c.Dirty&DirtyStored == 0 {
		p.TouchChannel(i, c)
	}
}

func (p *State) listDirty(i uint32, c *Channel) {
	if c.Dirty&DirtyListed == 0 {
		c.Dirty |= DirtyListed
		p.DirtyChannels = append(p.DirtyChannels, i)
		p.MarkedBytes += 400
	}
}

// pageBytes estimates the size of a page record with this many members.
func pageBytes(members uint32) int64 { return 64 + 24*int64(min(members, keys.PageLen)) }

// TouchRow marks the record with the row as out of date in the store.
func (p *State) TouchRow(i uint32, r *Row) {
	c := p.Channels.At(r.Channel)
	switch {
	case r.Flags&RowThread != 0:
		if _, known := p.DirtyFollows[i]; !known {
			p.DirtyFollows[i] = struct{}{}
			p.MarkedBytes += 64
		}
	case r.place&unordered != 0:
		if _, known := p.DirtyGuests[i]; !known {
			p.DirtyGuests[i] = struct{}{}
			p.MarkedBytes += 64
		}
	case r.place < keys.PageLen:
		if c.Dirty&DirtyPage0 == 0 {
			c.Dirty |= DirtyPage0
			p.MarkedBytes += pageBytes(c.Ords)
		}
		p.listDirty(r.Channel, c)
	default:
		pg := &p.MemberLists.At(c.More).Pages()[r.place/keys.PageLen-1]
		if !pg.Dirty {
			pg.Dirty = true
			p.MarkedBytes += pageBytes(keys.PageLen)
		}
		p.listDirty(r.Channel, c)
	}
}

// TouchPairExtra marks the pair's sets and held events as out of date in the store.
func (p *State) TouchPairExtra(ref uint32, r *Row) {
	if _, known := p.DirtyPairExtras[ref]; !known {
		p.DirtyPairExtras[ref] = struct{}{}
		p.MarkedBytes += 64
	}
}

// TouchPair is TouchPairExtra for a change that may have moved the base as well.
func (p *State) TouchPair(ref uint32, r *Row) {
	p.TouchPairExtra(ref, r)
	p.TouchRow(ref, r)
}

// DropGuest removes the record of a user who becomes a member.
func (p *State) DropGuest(ref uint32, r *Row) {
	delete(p.DirtyGuests, ref)
	if r.Flags&RowStored == 0 {
		return
	}
	r.Flags &^= RowStored
	c := p.Channels.At(r.Channel)
	p.replace(append(keys.AppendHot(p.KeyScratch[:0], p.Blobs.Get(c.ID), keys.HotGuest), p.UserID(r.User)...), nil)
}
