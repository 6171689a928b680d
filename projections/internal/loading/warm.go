package loading

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/records"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Like package warming, these functions take each step of a lookup for all ids before the next step, so
// that the cache misses of one step overlap. They change nothing and may be left out. Only
// pageUsers creates users and returns them.

// missed finds channels that are not in memory.
type missed struct {
	hashes []uint64
	refs   []uint32
}

// each calls fn for those of the ids that no channel in memory has.
func (m *missed) each(p *state.State, ids [][]byte, fn func(id []byte)) {
	m.hashes, m.refs = m.hashes[:0], m.refs[:0]
	sum := uint64(0)
	for _, id := range ids {
		hash := state.IDHash(id)
		m.hashes = append(m.hashes, hash)
		sum += p.ChannelTable.Peek(hash)
	}
	for _, hash := range m.hashes {
		ref := p.ChannelTable.First(hash)
		m.refs = append(m.refs, ref)
		if ref != 0 {
			sum += uint64(p.Channels.At(ref).ID)
		}
	}
	for _, ref := range m.refs {
		if ref != 0 {
			sum += uint64(p.Blobs.First(p.Channels.At(ref).ID))
		}
	}
	p.Warmth.Sum = sum
	for i, ref := range m.refs {
		if found := ref != 0 && bytes.Equal(p.Blobs.Get(p.Channels.At(ref).ID), ids[i]); !found && p.ChannelOf(ids[i]) == 0 {
			fn(ids[i])
		}
	}
}

// pageUsers returns the users of the first n members of a page, all of them unless the page is corrupt.
// It creates users that are missing, and touches the places of their pairs.
func (l Loader) pageUsers(ci uint32, b []byte, users *[keys.PageLen]uint32) (n uint32) {
	var ids [keys.PageLen][]byte
	var hashes [keys.PageLen]uint64
	for rd := (wire.Reader{B: b}); len(rd.B) > 0 && n < keys.PageLen; n++ {
		if ids[n] = rd.Bytes(); len(ids[n]) == 0 || !records.SkipRow(&rd) {
			break
		}
		hashes[n] = state.IDHash(ids[n])
	}
	// Each loop does little beside its loads, so that the processor has many of them under way.
	sum := uint64(0)
	for _, hash := range hashes[:n] {
		sum += l.UserTable.Peek(hash) + l.Cold.Peek(hash)
	}
	if !l.Users.Unused() {
		for _, hash := range hashes[:n] {
			sum += uint64(l.Users.At(l.UserTable.First(hash)).ShortLen)
		}
	}
	for i, id := range ids[:n] {
		users[i] = l.EnsureUser(id)
	}
	for _, u := range users[:n] {
		sum += l.PairTable.Peek(arena.PairHash(ci, u))
	}
	l.Warmth.Sum = sum
	return n
}

// WarmRows touches the rows of the members of a channel that is about to leave memory, and the places
// of their pairs.
func WarmRows(p *state.State, ci uint32, c *state.Channel) {
	sum, most := uint64(0), min(c.Ords, keys.PageLen)
	for ord := range most {
		r := p.Rows.At(p.MemberRow(c, ord))
		sum += uint64(r.User) + uint64(p.RareOf(r).Extra)
	}
	for ord := range most {
		sum += p.PairTable.Peek(arena.PairHash(ci, p.Rows.At(p.MemberRow(c, ord)).User))
	}
	p.Warmth.Sum = sum
}

// UsersAtOnce is the largest number of users that WarmUsers takes.
const UsersAtOnce = 64

// WarmUsers touches users, the first row of each, and their places in the tables by id.
func WarmUsers(p *state.State, users []uint32) {
	var hashes [UsersAtOnce]uint64
	sum := uint64(0)
	for _, u := range users {
		sum += uint64(p.Users.At(u).First)
	}
	for _, u := range users {
		sum += uint64(p.Rows.At(p.Users.At(u).First).NextUser)
	}
	for i, u := range users {
		hashes[i] = state.IDHash(p.UserID(u))
	}
	for _, hash := range hashes[:len(users)] {
		sum += p.UserTable.Peek(hash) + p.Cold.Peek(hash)
	}
	p.Warmth.Sum = sum
}
