package projections

import "slices"

// Receipts are sorted by packed keys: comparing two entries field by field costs more than all else that is done to put
// them into their blocks. Bits of a key, from the top: block from the first one in the list, page, code, place in the list.
const (
	sortPlaceBits = 20
	sortCodeBits  = 11
	sortPageBits  = 12
	sortBlockBits = 64 - sortPlaceBits - sortCodeBits - sortPageBits

	sortFew = 8 // fewer are compared
)

// sortAdvances puts a list in the order of rank. The result is valid until the next call.
func (p *Partition) sortAdvances(list []advance) []advance {
	if !p.packSortKeys(list) {
		slices.SortFunc(list, rank)
		return list
	}
	slices.Sort(p.sortKeys)
	out := p.sorted[:0]
	for i, key := range p.sortKeys {
		out = append(out, list[key&(1<<sortPlaceBits-1)])
		// Of entries about one message the earliest is the last.
		for j := i; j > 0 && p.sortKeys[j-1]>>sortPlaceBits == key>>sortPlaceBits && out[j-1].at < out[j].at; j-- {
			out[j-1], out[j] = out[j], out[j-1]
		}
	}
	p.sorted = out
	return out
}

// packSortKeys makes the keys of a list. It reports false if there are too few for it to pay, or one does not fit.
func (p *Partition) packSortKeys(list []advance) bool {
	if len(list) < sortFew || len(list) > 1<<sortPlaceBits {
		return false
	}
	first := list[0].block()
	for i := range list {
		first = min(first, list[i].block())
	}
	keys := p.sortKeys[:0]
	for i := range list {
		a := &list[i]
		block, page := a.block()-first, a.ord/pageLen
		if a.thread != 0 || block >= 1<<sortBlockBits || page >= 1<<sortPageBits {
			return false
		}
		key := uint64(block)<<sortPageBits | uint64(page)
		keys = append(keys, (key<<sortCodeBits|a.code())<<sortPlaceBits|uint64(i))
	}
	p.sortKeys = keys
	return true
}
