package receipts

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/arena"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Sorter sorts receipts by packed keys, because comparing entries field by field costs more than
// everything else on their way into blocks. The bits of a key, from the top: block relative to the
// first one of the list, page, code, index in the list.
const (
	sortPlaceBits = 20
	sortCodeBits  = 12
	sortPageBits  = 12
	sortBlockBits = 64 - sortPlaceBits - sortCodeBits - sortPageBits

	sortFew = 8 // fewer entries are sorted by comparing them
)

// Sorter sorts lists of entries. It reuses its memory.
type Sorter struct {
	sorted []Entry
	keys   []uint64
}

// HeapBytes is the memory that the sorter keeps.
func (p *Sorter) HeapBytes() int64 { return arena.ListBytes(p.sorted) + arena.ListBytes(p.keys) }

// Sort sorts a list by rank. The result is valid until the next call.
func (p *Sorter) Sort(list []Entry) []Entry {
	if !p.pack(list) {
		slices.SortFunc(list, rank)
		return list
	}
	slices.Sort(p.keys)
	out := p.sorted[:0]
	for i, key := range p.keys {
		out = append(out, list[key&(1<<sortPlaceBits-1)])
		// Of several entries of one message the earliest comes last.
		for j := i; j > 0 && p.keys[j-1]>>sortPlaceBits == key>>sortPlaceBits && out[j-1].At < out[j].At; j-- {
			out[j-1], out[j] = out[j], out[j-1]
		}
	}
	p.sorted = out
	return out
}

// pack makes the keys of a list. It returns false if there are too few entries for it to pay, or if
// a key does not fit.
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
