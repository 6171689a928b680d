package arena

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Order sorts numbers by their ids.
type Order struct {
	entries []orderEntry
	numbers []uint32
}

// orderEntry has the first bytes of an id in which it differs from others, so that hardly any
// comparison has to look at the id.
type orderEntry struct {
	first  uint64
	number uint32
}

// Of returns the numbers from 0 to n-1 in the order of their ids. They are valid until the next call.
func (o *Order) Of(n int, id func(i uint32) []byte) []uint32 {
	o.entries, o.numbers = o.entries[:0], o.numbers[:0]
	var prefix []byte
	for i := range uint32(n) {
		if x := id(i); i == 0 {
			prefix = x
		} else {
			prefix = prefix[:sharedLen(prefix, x)]
		}
	}
	for i := range uint32(n) {
		var b [8]byte
		copy(b[:], id(i)[len(prefix):])
		o.entries = append(o.entries, orderEntry{binary.BigEndian.Uint64(b[:]), i})
	}
	slices.SortFunc(o.entries, func(a, b orderEntry) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return bytes.Compare(id(a.number), id(b.number))
	})
	for _, e := range o.entries {
		o.numbers = append(o.numbers, e.number)
	}
	return o.numbers
}

// Sort appends the elements of a list to dst in the order of their ids.
func (o *Order) Sort(dst, list []uint32, id func(element uint32) []byte) []uint32 {
	for _, i := range o.Of(len(list), func(i uint32) []byte { return id(list[i]) }) {
		dst = append(dst, list[i])
	}
	return dst
}

// sharedLen returns how many bytes two ids begin with in common.
func sharedLen(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Trim gives back memory that the last order needed little of.
func (o *Order) Trim() { o.entries, o.numbers = Trimmed(o.entries), Trimmed(o.numbers) }

// Trimmed returns the list, or nil if most of its memory is unused.
func Trimmed[T any](list []T) []T {
	const few, share = 1024, 4
	if cap(list) > few && cap(list) > share*len(list) {
		return nil
	}
	return list
}

// HeapBytes is the memory that an Order keeps.
func (o *Order) HeapBytes() int64 {
	return ListBytes(o.entries) + ListBytes(o.numbers)
}
