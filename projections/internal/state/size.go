package state

import (
	"slices"
)

// A message is small if few enough were members when it was posted (Settings.ReceiptLimit,
// DESIGN §4.5). Channels seldom change, so what is kept are the seqs at which it changed: messages
// up to the first are small, then they are large.

// NotePosted notes whether the message that is posted next is small. stated is how many members its
// producer knew of, 0 if it did not say.
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

// sizeAt is the number of changes up to and with seq; it is odd where messages are large.
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

// NewestSmall is the newest small message at or below seq, 0 if there is none.
func (p *State) NewestSmall(c *Channel, seq uint32) uint32 {
	n, sizes := p.sizeAt(c, seq)
	if n%2 == 0 {
		return seq
	}
	return sizes[n-1] - 1
}
