package state

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/history"
)

// Warm touches the memory that folding these events will need. Folding is bound by cache misses,
// each depending on the last: id to channel to row to message. Warm takes each step for all events
// before the next step, so that the misses of one step overlap. It changes nothing and may be left
// out. The caller holds Lock, and passes the events that it folds next, a few hundred at a time:
// more would push the first ones out of the cache again. Warm remembers what it finds by hash.
// Reads are folded in this order, and each verifies that the remembered pair is its own.
func (p *State) Warm(messages []*events.Message, reads []*events.Read) {
	if p.Rows.Unused() {
		return // the state is empty: not even element 0 of the slabs exists
	}
	w := &p.Warmth
	w.Pairs, w.read = w.Pairs[:0], len(messages)
	for _, m := range messages {
		w.Pairs = append(w.Pairs, WarmPair{channelHash: IDHash(m.ChannelID), userHash: IDHash(m.SenderID)})
	}
	for _, m := range reads {
		w.Pairs = append(w.Pairs, WarmPair{channelHash: IDHash(m.ChannelID), userHash: IDHash(m.UserID)})
	}
	pairs, sum := w.Pairs, uint64(0)
	for i := range pairs {
		sum += p.ChannelTable.Peek(pairs[i].channelHash) + p.UserTable.Peek(pairs[i].userHash)
	}
	for i := range pairs {
		x := &pairs[i]
		x.Channel, x.User = p.ChannelTable.First(x.channelHash), p.UserTable.First(x.userHash)
		x.pairHash = arena.PairHash(x.Channel, x.User)
	}
	for i := range pairs {
		x := &pairs[i]
		sum += p.PairTable.Peek(x.pairHash) + uint64(p.Channels.At(x.Channel).ID) + uint64(p.Users.At(x.User).ShortLen)
	}
	for i := range pairs {
		x := &pairs[i]
		x.Row = p.PairTable.First(x.pairHash)
	}
	for i := range pairs {
		r := p.Rows.At(pairs[i].Row)
		sum += uint64(r.Channel) + uint64(r.NextUser) // most rows are in two cache lines
	}
	for i := range pairs {
		sum += uint64(p.RareOf(p.Rows.At(pairs[i].Row)).LastD)
	}
	for i := range pairs {
		c := p.Channels.At(pairs[i].Channel)
		sum += uint64(c.Tail[c.HeadSeq%history.BlockLen])
		if i < len(messages) {
			sum += uint64(c.MaxID)
		} else if int(c.ReceiptSlot) < len(p.ReceiptChannels) {
			sum += uint64(p.ReceiptChannels[c.ReceiptSlot].Channel)
		}
	}
	for i := range pairs {
		c := p.Channels.At(pairs[i].Channel)
		sum += uint64(p.Blobs.First(c.ID)) + uint64(p.Blobs.First(c.Tail[c.HeadSeq%history.BlockLen]))
		if i < len(messages) { // the largest id, and the entry that leaves the tail
			sum += uint64(p.Blobs.First(c.MaxID)) + uint64(p.Blobs.First(c.Tail[(c.HeadSeq+1)%history.BlockLen]))
		}
	}
	w.Sum = sum
}

// Warmth is the memory of Warm. sum keeps the compiler from removing the loads.
type Warmth struct {
	Pairs []WarmPair // pairs of the messages, then of the reads
	read  int        // index of the next read's pair
	Sum   uint64
}

// WarmPair is what Warm found for one event.
type WarmPair struct {
	channelHash, userHash, pairHash uint64
	Channel, User, Row              uint32 // 0: none
}

// NextRead returns what Warm found for the next read. If that read was not passed to Warm, the
// result is another's; the caller verifies it, and must not change it.
func (w *Warmth) NextRead() *WarmPair {
	if w.read >= len(w.Pairs) {
		return &noPair
	}
	w.read++
	return &w.Pairs[w.read-1]
}

var noPair WarmPair

// EnsureChannelNear is EnsureChannel with a guess of the index, 0 for none.
func (p *State) EnsureChannelNear(guess uint32, id []byte) (uint32, *Channel) {
	if guess != 0 {
		if c := p.Channels.At(guess); bytes.Equal(p.Blobs.Get(c.ID), id) {
			c.Dirty |= ChannelUsed
			return guess, c
		}
	}
	return p.EnsureChannel(id)
}

// EnsureUserNear is EnsureUser with a guess of the index, 0 for none.
func (p *State) EnsureUserNear(guess uint32, id []byte) uint32 {
	if guess != 0 && bytes.Equal(p.UserID(guess), id) {
		return guess
	}
	return p.EnsureUser(id)
}

// EnsureRowNear is EnsureRow with a guess of the index, 0 for none.
func (p *State) EnsureRowNear(guess, ch, user uint32) (uint32, *Row) {
	if guess != 0 {
		if r := p.Rows.At(guess); r.Channel == ch && r.User == user && r.Flags&RowThread == 0 {
			return guess, r
		}
	}
	return p.EnsureRow(ch, user)
}
