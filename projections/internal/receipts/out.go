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

// Due is an Out of the channel that is drained.
type Due struct {
	Hash      uint32 // of the user's id; users are ordered by it
	User, Seq uint32
	Kind      uint8
	At        int64
}

// Condense sorts the receipts of a channel by user, kind and seq, in place, and drops redundant
// ones. Of each user it keeps the furthest read, and the furthest read with threads if that is less
// far; of each delivery and view of a message it keeps the earliest. ids orders two users with the
// same hash: their indexes would not do, because they depend on which channels have left memory.
func Condense(list []Due, ids func(a, b uint32) int) []Due {
	slices.SortFunc(list, func(a, b Due) int {
		switch {
		case a.Hash != b.Hash: // nearly always: hardly any user reads twice before a drain
			return cmp.Compare(a.Hash, b.Hash)
		case a.User != b.User:
			return ids(a.User, b.User)
		}
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seq, b.Seq), cmp.Compare(b.At, a.At))
	})
	keep := list[:0]
	for i, o := range list {
		upTo := o.Kind == OutRead || o.Kind == OutWithThreads
		if i+1 < len(list) {
			if n := &list[i+1]; n.Kind == o.Kind && n.User == o.User && (upTo || n.Seq == o.Seq) {
				continue // the next one is further, or earlier
			}
		}
		if o.Kind == OutWithThreads {
			keep = withoutRead(keep, &o)
		}
		keep = append(keep, o)
	}
	return keep
}

// withoutRead removes the read of a user, which is the first of their receipts at the end of the list,
// if a read with threads includes it.
func withoutRead(list []Due, with *Due) []Due {
	first := len(list)
	for first > 0 && list[first-1].User == with.User {
		first--
	}
	if first < len(list) && list[first].Kind == OutRead && list[first].Seq <= with.Seq {
		return slices.Delete(list, first, first+1)
	}
	return list
}
