package receipts

import (
	"cmp"
	"slices"
)

// Out is a receipt to publish on tidemark.receipts (DESIGN §7).
type Out struct {
	Next      uint32 // the channel's previous receipt, 0 = none
	User, Seq uint32
	Kind      uint8
	At        int64
}

// Kinds of receipts to publish.
const (
	OutRead = iota
	OutDelivered
	OutViewed
	OutWithThreads // like OutRead, and of the threads too
)

// Condense sorts the receipts of a channel by kind, user and seq, in place, and drops redundant
// ones. Of each user it keeps the furthest read, and the furthest read with threads if that is less
// far; of each delivery and view of a message it keeps the earliest.
func Condense(list []Out) []Out {
	slices.SortFunc(list, func(a, b Out) int {
		if a.Kind != b.Kind || a.User != b.User { // nearly always: hardly any user reads twice before a drain
			return cmp.Compare(uint64(a.Kind)<<32|uint64(a.User), uint64(b.Kind)<<32|uint64(b.User))
		}
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(b.At, a.At))
	})
	keep := list[:0]
	for i, o := range list {
		upTo := o.Kind == OutRead || o.Kind == OutWithThreads
		if i+1 < len(list) {
			if n := &list[i+1]; n.Kind == o.Kind && n.User == o.User && (upTo || n.Seq == o.Seq) {
				continue // the next one is further, or earlier
			}
		}
		keep = append(keep, o)
	}
	first := slices.IndexFunc(keep, func(o Out) bool { return o.Kind == OutWithThreads })
	if first < 0 {
		return keep
	}
	withThreads := keep[first:] // at most one per user
	rest := slices.DeleteFunc(keep[:first:first], func(o Out) bool {
		i, ok := slices.BinarySearchFunc(withThreads, o.User, func(a Out, user uint32) int { return cmp.Compare(a.User, user) })
		return ok && o.Kind == OutRead && withThreads[i].Seq >= o.Seq
	})
	return append(rest[:len(rest):len(rest)], withThreads...)
}
