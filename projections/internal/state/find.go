package state

import (
	"bytes"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/identity"
)

// Lookup of channels, users and pairs by id or hash. The Ensure methods create what they do not
// find. Extras, which only few objects have, are created on demand.

// IDHash returns the hash of an id in the tables.
func IDHash(id []byte) uint64 { return arena.Mix(xxh3.Hash(id)) }

// ChannelOf returns the channel's index, or 0.
func (p *State) ChannelOf(id []byte) uint32 {
	return p.ChannelTable.Find(IDHash(id), func(ref uint32) bool { return bytes.Equal(p.Blobs.Get(p.Channels.At(ref).ID), id) })
}

// EnsureChannel returns the channel with an id, and creates it if needed.
func (p *State) EnsureChannel(id []byte) (uint32, *Channel) {
	if i := p.ChannelOf(id); i != 0 {
		c := p.Channels.At(i)
		c.Dirty |= ChannelUsed
		return i, c
	}
	i, c := p.NewChannel(id)
	p.loadIfCold(i, c, id)
	c.Dirty |= ChannelUsed
	return i, c
}

// NewChannel adds a channel that is not in memory.
func (p *State) NewChannel(id []byte) (uint32, *Channel) {
	i := p.Channels.Alloc()
	c := p.Channels.At(i)
	c.ID = p.Blobs.Put(id)
	p.ForgetEnding(i)
	c.Time, c.LogTime = MinTime, MinTime
	if p.Settings.FanoutLimit == 0 {
		c.Flags |= ChannelLarge
	}
	p.ChannelTable.Insert(IDHash(id), i)
	return i, c
}

// UserOf returns the user's index, or 0.
func (p *State) UserOf(id []byte) uint32 {
	return p.UserTable.Find(IDHash(id), func(ref uint32) bool { return bytes.Equal(p.UserID(ref), id) })
}

// EnsureUser returns the user's index, and creates the user if needed.
func (p *State) EnsureUser(id []byte) uint32 {
	if i := p.UserOf(id); i != 0 {
		return i
	}
	i := p.Users.Alloc()
	u := p.Users.At(i)
	if len(id) <= shortID {
		u.ShortLen = uint8(copy(u.short[:], id))
	} else {
		u.Long = p.Blobs.Put(id)
	}
	u.Murmur = events.Murmur2(id) & 0x7fffffff
	p.UserTable.Insert(IDHash(id), i)
	if p.Cold.MayKnow(IDHash(id)) {
		p.UsersInBoth++
	}
	return i
}

// UserID returns the id of a user. It stays valid, and the caller must not change it.
func (p *State) UserID(ref uint32) []byte {
	u := p.Users.At(ref)
	if u.ShortLen == 0 {
		return p.Blobs.Get(u.Long)
	}
	return u.short[:u.ShortLen:u.ShortLen]
}

// RowOf returns the row of a pair, or 0.
func (p *State) RowOf(ch, user uint32) uint32 {
	return p.PairTable.Find(arena.PairHash(ch, user), func(ref uint32) bool {
		r := p.Rows.At(ref)
		return r.Channel == ch && r.User == user && r.Flags&RowThread == 0
	})
}

// EnsureRow returns the pair's row. It creates a missing row as that of a user who never joined.
func (p *State) EnsureRow(ch, user uint32) (uint32, *Row) {
	if i := p.RowOf(ch, user); i != 0 {
		return i, p.Rows.At(i)
	}
	i, r := p.newRow(ch, user)
	p.listOther(p.Channels.At(ch), i)
	return i, r
}

// EnsureRowToJoin is EnsureRow for a user who is about to join: until GiveOrdinal or PlaceMember, a new
// row is in none of the channel's lists.
func (p *State) EnsureRowToJoin(ch, user uint32) (uint32, *Row) {
	if i := p.RowOf(ch, user); i != 0 {
		return i, p.Rows.At(i)
	}
	return p.newRow(ch, user)
}

func (p *State) newRow(ch, user uint32) (uint32, *Row) {
	i := p.Rows.Alloc()
	r, u := p.Rows.At(i), p.Users.At(user)
	r.Channel, r.User, r.place = ch, user, NoOrdinal
	r.NextUser, u.First = u.First, i
	p.insertPair(i)
	return i, r
}

// insertPair adds a new row to the table of pairs.
func (p *State) insertPair(ref uint32) {
	if ref > arena.MaxRef {
		p.Fail(fmt.Errorf("a partition cannot have more than %d pairs and followed threads in memory: use more partitions, or a smaller --memory", arena.MaxRef))
		return
	}
	p.PairTable.Insert(p.pairHash(ref), ref)
}

// RemovePair removes a row from the table of pairs. The row, and the follow of a row in a thread, must
// still be as they were when it was added.
func (p *State) RemovePair(ref uint32) { p.PairTable.Remove(p.pairHash(ref), ref) }

// ExtraOf returns the channel's extra, or nil if it has none, as most channels.
func (p *State) ExtraOf(c *Channel) *ChannelExtra {
	if c.Extra == 0 {
		return nil
	}
	return p.ChannelExtras.At(c.Extra)
}

// EnsureExtra returns the channel's extra, and creates it if needed.
func (p *State) EnsureExtra(c *Channel) *ChannelExtra {
	if c.Extra == 0 {
		c.Extra = p.ChannelExtras.Put(&ChannelExtra{})
	}
	return p.ChannelExtras.At(c.Extra)
}

// ExtraOfPair returns the pair's extra, or nil if it has none, as most pairs.
func (p *State) ExtraOfPair(r *Row) *PairExtra {
	if i := p.RareOf(r).Extra; i != 0 {
		return p.PairExtras.At(i)
	}
	return nil
}

// EnsurePairExtra returns the pair's extra, and creates it if needed.
func (p *State) EnsurePairExtra(r *Row) *PairExtra {
	x := p.EnsureRare(r)
	if x.Extra == 0 {
		x.Extra = p.PairExtras.Put(&PairExtra{})
	}
	return p.PairExtras.At(x.Extra)
}

// PairOf returns the row in the channel of a row's user.
func (p *State) PairOf(r *Row) *Row {
	if r.Flags&RowThread != 0 {
		return p.Rows.At(p.FollowOf(r).Pair)
	}
	return r
}

// KnownChannel finds a channel that exists for readers.
func (p *State) KnownChannel(channelID string) (uint32, *Channel, bool) {
	ci := p.ChannelOf([]byte(channelID))
	if ci == 0 {
		return 0, nil, false
	}
	c := p.Channels.At(ci)
	return ci, c, c.LastM != 0 && c.Flags&ChannelDeleted == 0
}

// PairOrNone returns the pair's row, or an empty row for a user who never did anything.
func (p *State) PairOrNone(ci uint32, userID string) *Row {
	if u := p.UserOf([]byte(userID)); u != 0 {
		if ref := p.RowOf(ci, u); ref != 0 {
			return p.Rows.At(ref)
		}
	}
	return &Row{Channel: ci, place: NoOrdinal}
}

// loadIfCold loads a new channel if it is cold.
func (p *State) loadIfCold(ci uint32, c *Channel, id []byte) {
	if !p.Cold.MayHave(id) {
		return
	}
	if err := p.Backing.LoadCold(ci, c, id); err != nil {
		p.Fail(fmt.Errorf("loading channel %q: %w", id, err))
		return
	}
	if ref := p.Cold.Of(id); ref != 0 {
		p.Returned(ref, ci, c)
	}
}

// Returned notes that a cold channel was loaded. ref is its index in the set of cold channels.
func (p *State) Returned(ref, ci uint32, c *Channel) {
	p.Cold.Returns(ref, ci)
	for _, r := range p.RowsOf(c) {
		if r.Flags&RowThread == 0 {
			r.Flags |= RowColdListed // it has a record, so it was listed when it left
		}
	}
}

// LoadSince loads the cold channels that a record from position since on has named. It calls looked
// after each channel.
func (p *State) LoadSince(since identity.Position, looked func()) {
	p.Cold.Channels.Each(func(_ uint32, c *cold.Channel) {
		for in := range since {
			if c.ID != 0 && c.Now == 0 && c.Upto[in] > since[in] {
				p.EnsureChannel(bytes.Clone(p.Blobs.Get(c.ID)))
			}
		}
		looked()
	})
}
