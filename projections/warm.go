package projections

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
)

// Warm touches the memory that folding these events will need. Folding is bound by cache misses, each depending on the
// last: id to channel to row to message. Here every step is taken for all events before the next, so that the misses of
// one step overlap. It changes nothing and may be left out. Lock is held. Callers pass what they fold next, some
// hundred events at a time: more than that falls out of the cache again. What it finds by hash is remembered for the
// reads, which are folded in that order and look whether it is theirs.
func (p *Partition) Warm(messages []*events.Message, reads []*events.Read) {
	if p.rows.next == 0 {
		return // nothing is there, and of no slab element 0 either
	}
	w := &p.warmth
	w.pairs, w.read = w.pairs[:0], len(messages)
	for _, m := range messages {
		w.pairs = append(w.pairs, warmPair{channelHash: idHash(m.ChannelID), userHash: idHash(m.SenderID)})
	}
	for _, m := range reads {
		w.pairs = append(w.pairs, warmPair{channelHash: idHash(m.ChannelID), userHash: idHash(m.UserID)})
	}
	pairs, sum := w.pairs, uint64(0)
	for i := range pairs {
		sum += p.chanTab.peek(pairs[i].channelHash) + p.userTab.peek(pairs[i].userHash)
	}
	for i := range pairs {
		x := &pairs[i]
		x.channel, x.user = p.chanTab.first(x.channelHash), p.userTab.first(x.userHash)
		x.pairHash = pairHash(x.channel, x.user)
	}
	for i := range pairs {
		x := &pairs[i]
		sum += p.pairTab.peek(x.pairHash) + uint64(p.chans.at(x.channel).id) + uint64(p.users.at(x.user).n)
	}
	for i := range pairs {
		x := &pairs[i]
		x.row = p.pairTab.first(x.pairHash)
	}
	for i := range pairs {
		r := p.rows.at(pairs[i].row)
		sum += uint64(r.ch) + uint64(r.lastR)
	}
	for i := range pairs {
		c := p.chans.at(pairs[i].channel)
		sum += uint64(c.tail[c.headSeq%tailLen])
	}
	for i := range pairs {
		c := p.chans.at(pairs[i].channel)
		sum += uint64(p.blobs.first(c.id)) + uint64(p.blobs.first(c.tail[c.headSeq%tailLen]))
	}
	w.sum = sum
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
		w.sum += uint64(c.id) + uint64(c.tail[c.latest%tailLen]) + uint64(c.lastM) + uint64(p.users.at(r.user).n)
	}
	for i := range rows {
		r := p.rows.at(rows[i].ref)
		c := p.chans.at(r.ch)
		w.sum += uint64(p.blobs.first(c.id)) + uint64(p.blobs.first(c.tail[c.latest%tailLen])) +
			uint64(p.blobs.first(r.lastID)) + uint64(p.blobs.first(r.firstID))
	}
}

// warmth is the memory of Warm. sum keeps the loads from being left out.
type warmth struct {
	pairs []warmPair // of messages, then of reads
	read  int        // the pair of the next read
	sum   uint64
}

type warmPair struct {
	channelHash, userHash, pairHash uint64
	channel, user, row              uint32 // 0: none
}

// nextRead is what was found for the read that is folded next, if it is one that was warmed; it may be another's.
func (w *warmth) nextRead() (x warmPair) {
	if w.read < len(w.pairs) {
		x = w.pairs[w.read]
		w.read++
	}
	return x
}

// ensureChannelNear is ensureChannel with a guess, 0 for none.
func (p *Partition) ensureChannelNear(guess uint32, id []byte) (uint32, *channel) {
	if guess != 0 {
		if c := p.chans.at(guess); bytes.Equal(p.blobs.get(c.id), id) {
			return guess, c
		}
	}
	return p.ensureChannel(id)
}

// ensureUserNear is ensureUser with a guess, 0 for none.
func (p *Partition) ensureUserNear(guess uint32, id []byte) uint32 {
	if guess != 0 && bytes.Equal(p.userID(guess), id) {
		return guess
	}
	return p.ensureUser(id)
}

// ensureRowNear is ensureRow with a guess, 0 for none.
func (p *Partition) ensureRowNear(guess, ch, user uint32) (uint32, *row) {
	if guess != 0 {
		if r := p.rows.at(guess); r.ch == ch && r.user == user && r.flags&rowThread == 0 {
			return guess, r
		}
	}
	return p.ensureRow(ch, user)
}

// peek loads the home slot of hash.
func (t *table) peek(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint64(len(t.slots)-1)]
}

// first is the first reference whose tag matches, unverified, 0 if there is none.
func (t *table) first(hash uint64) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	mask, tag := uint64(len(t.slots)-1), hash>>32
	for i := hash & mask; ; i = (i + 1) & mask {
		if e := t.slots[i]; e == 0 || e>>32 == tag {
			return uint32(e)
		}
	}
}

// first is the blob's first byte, 0 for none.
func (s *blobs) first(ref uint32) byte {
	if ref == 0 || ref&blobBig != 0 {
		return 0
	}
	return s.chunks[ref>>16][int(ref&0xffff)*blobUnit]
}
