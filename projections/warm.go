package projections

import "github.com/tidemark/tidemark/events"

// Warm touches the memory that folding these events will need. Folding is bound by cache misses, each depending on the
// last: id to channel to row to message. Here every step is taken for all events before the next, so that the misses of
// one step overlap. It changes nothing and may be left out. Lock is held. Callers pass what they fold next, some
// hundred events at a time: more than that falls out of the cache again.
func (p *Partition) Warm(messages []*events.Message, reads []*events.Read) {
	w := &p.warmth
	w.pairs = w.pairs[:0]
	for _, m := range messages {
		w.pairs = append(w.pairs, warmPair{channelHash: idHash(m.ChannelID), userHash: idHash(m.SenderID)})
	}
	for _, m := range reads {
		w.pairs = append(w.pairs, warmPair{channelHash: idHash(m.ChannelID), userHash: idHash(m.UserID)})
	}
	pairs := w.pairs
	for i := range pairs {
		w.sum += p.chanTab.peek(pairs[i].channelHash) + p.userTab.peek(pairs[i].userHash)
	}
	for i := range pairs {
		x := &pairs[i]
		x.channel, x.user = p.chanTab.first(x.channelHash), p.userTab.first(x.userHash)
		if x.channel != 0 {
			w.sum += uint64(p.chans.at(x.channel).id)
		}
		if x.user != 0 {
			w.sum += uint64(p.users.at(x.user).id)
		}
		w.sum += p.pairTab.peek(pairHash(x.channel, x.user))
	}
	for i := range pairs {
		x := &pairs[i]
		if x.channel != 0 {
			c := p.chans.at(x.channel)
			w.sum += uint64(p.blobs.first(c.id)) + uint64(p.blobs.first(c.tail[c.headSeq%tailLen])) + uint64(c.dirty)
		}
		if x.user != 0 {
			w.sum += uint64(p.blobs.first(p.users.at(x.user).id))
		}
		if ref := p.pairTab.first(pairHash(x.channel, x.user)); ref != 0 {
			r := p.rows.at(ref)
			w.sum += uint64(r.ch) + uint64(r.lastR)
		}
	}
}

// warmRows is how many rows Drain warms at a time.
const warmRows = 64

// warmDrain is Warm for rows that are drained next: row to channel, user and ids, and those to their bytes.
func (p *Partition) warmDrain(rows []outRow) {
	w := &p.warmth
	for i := range rows {
		r := p.rows.at(rows[i].ref)
		w.sum += uint64(r.ch) + uint64(r.lastR)
	}
	for i := range rows {
		r := p.rows.at(rows[i].ref)
		c := p.chans.at(r.ch)
		w.sum += uint64(c.id) + uint64(c.tail[c.latest%tailLen]) + uint64(c.lastM) + uint64(p.users.at(r.user).id)
	}
	for i := range rows {
		r := p.rows.at(rows[i].ref)
		c := p.chans.at(r.ch)
		w.sum += uint64(p.blobs.first(c.id)) + uint64(p.blobs.first(c.tail[c.latest%tailLen])) +
			uint64(p.blobs.first(p.users.at(r.user).id)) + uint64(p.blobs.first(r.lastID)) + uint64(p.blobs.first(r.firstID))
	}
}

// warmth is the memory of Warm. sum keeps the loads from being left out.
type warmth struct {
	pairs []warmPair
	sum   uint64
}

type warmPair struct {
	channelHash, userHash uint64
	channel, user         uint32
}

// peek loads the home slot of hash.
func (t *table) peek(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint64(len(t.slots)-1)]
}

// first is the first reference whose tag matches, unverified.
func (t *table) first(hash uint64) uint32 {
	return t.find(hash, func(uint32) bool { return true })
}

// first is the blob's first byte, 0 for none.
func (s *blobs) first(ref uint32) byte {
	if ref == 0 || ref&blobBig != 0 {
		return 0
	}
	return s.chunks[ref>>16][int(ref&0xffff)*blobUnit]
}
