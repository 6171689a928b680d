package projections

import (
	"encoding/binary"
	"slices"
)

// A message is small if few enough were members when it was posted (Settings.ReceiptLimit, DESIGN §4.5). Channels seldom
// change, so what is kept are the seqs at which it changed: messages up to the first are small, then they are large.

// notePosted notes whether the message that is posted next is small. stated is how many members its producer knew of, 0
// if it did not say.
func (p *Partition) notePosted(c *channel, seq, stated uint32) {
	if stated == 0 {
		stated = c.members
	}
	x := p.extOf(c)
	large := stated > p.settings.ReceiptLimit
	if x == nil && !large {
		return
	}
	if x = p.ensureExt(c); large != (len(x.sizes)%2 == 1) {
		x.sizes = append(x.sizes, seq)
		x.sizesDirty = true
	}
}

// sizeAt is the number of changes up to and with seq; it is odd where messages are large.
func (p *Partition) sizeAt(c *channel, seq uint32) (int, []uint32) {
	x := p.extOf(c)
	if x == nil {
		return 0, nil
	}
	i, found := slices.BinarySearch(x.sizes, seq)
	if found {
		i++
	}
	return i, x.sizes
}

func (p *Partition) isSmall(c *channel, seq uint32) bool {
	n, _ := p.sizeAt(c, seq)
	return n%2 == 0
}

// newestSmall is the newest small message at or below seq, 0 if there is none.
func (p *Partition) newestSmall(c *channel, seq uint32) uint32 {
	n, sizes := p.sizeAt(c, seq)
	if n%2 == 0 {
		return seq
	}
	return sizes[n-1] - 1
}

func appendSizes(b []byte, sizes []uint32) []byte {
	for _, s := range sizes {
		b = binary.AppendUvarint(b, uint64(s))
	}
	return b
}

func (r *reader) sizes() (out []uint32) {
	for len(r.b) > 0 && r.err == nil {
		out = append(out, r.u32())
	}
	return out
}
