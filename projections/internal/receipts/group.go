package receipts

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// Group is a channel with entries that are not in a block yet.
type Group struct {
	Channel uint32
	End     uint32 // number of its entries; after Gather, the end of its part
}

// Gather returns the entries by groups, which it takes in the given order, and sets the End of each
// group. It overwrites dst. It reads the entries in the order in which they were folded, because
// following each channel's chain would miss the cache every time.
func Gather(dst []Entry, entries *arena.Slab[Entry], groups []Group, order []uint32) []Entry {
	at := uint32(0)
	for _, i := range order {
		g := &groups[i]
		g.End, at = at, at+g.End
	}
	dst = slices.Grow(dst[:0], int(at))[:at]
	entries.Each(func(_ uint32, e *Entry) {
		if e.Kind != Dropped {
			end := &groups[e.Slot].End
			dst[*end] = *e
			*end++
		}
	})
	return dst
}
