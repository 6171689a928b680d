package state

import "bytes"

// Warmth holds what warming.Events found. Sum keeps the compiler from removing the loads.
type Warmth struct {
	Pairs []WarmPair // pairs of the messages, then of the reads
	read  int        // index of the next read's pair
	Sum   uint64
}

// WarmPair holds what warming.Events found for one event.
type WarmPair struct {
	ChannelHash, UserHash, PairHash uint64
	Channel, User, Row              uint32 // 0: none
}

// Begin forgets the pairs. The first read comes after this many messages.
func (w *Warmth) Begin(messages int) { w.Pairs, w.read = w.Pairs[:0], messages }

// NextRead returns what was found for the next read. If that read was not warmed, the result is
// another's; the caller verifies it, and must not change it.
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
