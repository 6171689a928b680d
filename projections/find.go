package projections

import (
	"bytes"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// Channels, users and pairs by what names them: each is found by hash, or made. What only few of them have is made when
// it is needed.

func idHash(id []byte) uint64 { return mix(xxh3.Hash(id)) }

// channelOf returns the channel's index, 0 if it is not known.
func (p *Partition) channelOf(id []byte) uint32 {
	return p.chanTab.find(idHash(id), func(ref uint32) bool { return bytes.Equal(p.blobs.get(p.chans.at(ref).id), id) })
}

func (p *Partition) ensureChannel(id []byte) (uint32, *channel) {
	if i := p.channelOf(id); i != 0 {
		return i, p.chans.at(i)
	}
	i := p.chans.alloc()
	c := p.chans.at(i)
	c.id = p.blobs.put(id)
	c.time, c.logTime = minTime, minTime
	if p.settings.FanoutLimit == 0 {
		c.flags |= chLarge
	}
	p.chanTab.insert(idHash(id), i)
	return i, c
}

func (p *Partition) userOf(id []byte) uint32 {
	return p.userTab.find(idHash(id), func(ref uint32) bool { return bytes.Equal(p.userID(ref), id) })
}

func (p *Partition) ensureUser(id []byte) uint32 {
	if i := p.userOf(id); i != 0 {
		return i
	}
	i := p.users.alloc()
	u := p.users.at(i)
	if len(id) <= shortID {
		u.n = uint8(copy(u.short[:], id))
	} else {
		u.long = p.blobs.put(id)
	}
	u.part = events.Murmur2(id) & 0x7fffffff
	p.userTab.insert(idHash(id), i)
	return i
}

// userID is the id of a user. It must not be changed, and stays valid.
func (p *Partition) userID(ref uint32) []byte {
	u := p.users.at(ref)
	if u.n == 0 {
		return p.blobs.get(u.long)
	}
	return u.short[:u.n:u.n]
}

// rowOf returns the row of a pair, 0 if it has none.
func (p *Partition) rowOf(ch, user uint32) uint32 {
	return p.pairTab.find(pairHash(ch, user), func(ref uint32) bool {
		r := p.rows.at(ref)
		return r.ch == ch && r.user == user && r.flags&rowThread == 0
	})
}

// ensureRow returns the pair's row, made as that of a user who never joined.
func (p *Partition) ensureRow(ch, user uint32) (uint32, *row) {
	if i := p.rowOf(ch, user); i != 0 {
		return i, p.rows.at(i)
	}
	i := p.rows.alloc()
	r := p.rows.at(i)
	r.ch, r.user, r.ord = ch, user, noOrdinal
	u := p.users.at(user)
	r.nextUser, u.first = u.first, i
	c := p.chans.at(ch)
	r.nextRow, c.rows = c.rows, i
	p.pairTab.insert(pairHash(ch, user), i)
	return i, r
}

func (p *Partition) extOf(c *channel) *ext {
	if c.ext == 0 {
		return nil
	}
	return p.exts[c.ext]
}

func (p *Partition) ensureExt(c *channel) *ext {
	if c.ext == 0 {
		p.exts = append(p.exts, &ext{})
		c.ext = uint32(len(p.exts) - 1)
	}
	return p.exts[c.ext]
}

func (p *Partition) excOf(r *row) *exc {
	if r.exc == 0 {
		return nil
	}
	return p.excs[r.exc]
}

func (p *Partition) ensureExc(r *row) *exc {
	switch n := len(p.freeExcs); {
	case r.exc != 0:
	case n > 0:
		r.exc, p.freeExcs = p.freeExcs[n-1], p.freeExcs[:n-1]
		p.excs[r.exc] = &exc{}
	default:
		p.excs = append(p.excs, &exc{})
		r.exc = uint32(len(p.excs) - 1)
	}
	return p.excs[r.exc]
}
