package state

import (
	"slices"
)

// A message is small if the channel had few enough members when it was posted
// (Settings.ReceiptLimit, DESIGN §4.5). Channels seldom change their size, so the state keeps the
// seqs at which they did: messages before the first are small, then they are large, and so on.

// NotePosted records whether the next message is small. stated is the number of members that its
// producer stated, or 0.
func (p *State) NotePosted(c *Channel, seq, stated uint32) {
	if stated == 0 {
		stated = c.Members
	}
	x := p.ExtraOf(c)
	large := stated > p.Settings.ReceiptLimit
	if x == nil && !large {
		return
	}
	if x = p.EnsureExtra(c); large != (len(x.Sizes)%2 == 1) {
		x.Sizes = append(x.Sizes, seq)
		x.SizesDirty = true
	}
}

// sizeAt returns the number of changes up to and including seq, which is odd where messages are
// large, and the list of changes.
func (p *State) sizeAt(c *Channel, seq uint32) (int, []uint32) {
	x := p.ExtraOf(c)
	if x == nil {
		return 0, nil
	}
	i, found := slices.BinarySearch(x.Sizes, seq)
	if found {
		i++
	}
	return i, x.Sizes
}

// IsSmall reports whether a message is small.
func (p *State) IsSmall(c *Channel, seq uint32) bool {
	n, _ := p.sizeAt(c, seq)
	return n%2 == 0
}

// NewestSmall returns the newest small message at or below seq, or 0.
func (p *State) NewestSmall(c *Channel, seq uint32) uint32 {
	n, sizes := p.sizeAt(c, seq)
	if n%2 == 0 {
		return seq
	}
	return sizes[n-1] - 1
}
