package receipts

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Receipts are sorted by packed keys: comparing two entries field by field costs more than all else
// that is done to put them into their blocks. Bits of a key, from the top: block from the first one
// in the list, page, code, place in the list.
const (
	sortPlaceBits = 20
	sortCodeBits  = 12
	sortPageBits  = 12
	sortBlockBits = 64 - sortPlaceBits - sortCodeBits - sortPageBits

	sortFew = 8 // fewer are compared
)

// Sorter sorts lists of entries. It keeps its memory from one to the next.
type Sorter struct {
	sorted []Entry
	keys   []uint64
}

// HeapBytes is the memory that the sorter keeps.
func (p *Sorter) HeapBytes() int64 { return arena.ListBytes(p.sorted) + arena.ListBytes(p.keys) }

// Sort puts a list in the order of rank. The result is valid until the next call.
func (p *Sorter) Sort(list []Entry) []Entry {
	if !p.pack(list) {
		slices.SortFunc(list, rank)
		return list
	}
	slices.Sort(p.keys)
	out := p.sorted[:0]
	for i, key := range p.keys {
		out = append(out, list[key&(1<<sortPlaceBits-1)])
		// Of entries about one message the earliest is the last.
		for j := i; j > 0 && p.keys[j-1]>>sortPlaceBits == key>>sortPlaceBits && out[j-1].At < out[j].At; j-- {
			out[j-1], out[j] = out[j], out[j-1]
		}
	}
	p.sorted = out
	return out
}

// pack makes the keys of a list. It reports false if there are too few for it to pay, or one does
// not fit.
func (p *Sorter) pack(list []Entry) bool {
	if len(list) < sortFew || len(list) > 1<<sortPlaceBits {
		return false
	}
	first := list[0].Block()
	for i := range list {
		first = min(first, list[i].Block())
	}
	packed := p.keys[:0]
	for i := range list {
		a := &list[i]
		block, page := a.Block()-first, a.Ord/keys.PageLen
		if a.Thread != 0 || block >= 1<<sortBlockBits || page >= 1<<sortPageBits {
			return false
		}
		key := uint64(block)<<sortPageBits | uint64(page)
		packed = append(packed, (key<<sortCodeBits|a.code())<<sortPlaceBits|uint64(i))
	}
	p.keys = packed
	return true
}
