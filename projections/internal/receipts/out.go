package receipts

import (
	"cmp"
	"slices"
)

// Out is a receipt to publish on tidemark.receipts (DESIGN §7).
type Out struct {
	Slot      uint32 // of the channel's Group
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
	OutDropped     // not to be published after all
)

// Due is an Out of the channel that is drained.
type Due struct {
	Hash      uint32 // of the user's id; users are ordered by it
	User, Seq uint32
	Kind      uint8
	At        int64
}

// Erased are the receipts of users who were erased after them: of each user in a channel, those
// below an index. They are not published.
type Erased map[uint64]uint32

// Add adds a user's receipts of the channel with this group. n is the number of all receipts so far.
func (e *Erased) Add(slot, user uint32, n int) {
	if *e == nil {
		*e = Erased{}
	}
	(*e)[uint64(slot)<<32|uint64(user)] = uint32(n) //nolint:gosec // far fewer receipts fit into memory
}

// drop marks the receipts as dropped.
func (e Erased) drop(list []Out, groups []Group, spend func(work int)) {
	if len(e) == 0 {
		return
	}
	for i := range list {
		if i%gatherEach == gatherEach-1 {
			spend(1)
		}
		if o := &list[i]; uint32(i) < e[uint64(o.Slot)<<32|uint64(o.User)] { //nolint:gosec // as in Add
			o.Kind = OutDropped
			groups[o.Slot].End--
		}
	}
}

// GatherDue returns the receipts by groups and sets the End of each group. It overwrites dst. hash
// returns the hash of a user's id. GatherDue reads the receipts in the order in which they were
// folded; see Gather for why. It calls spend after each gatherEach of them.
func GatherDue(dst []Due, list []Out, groups []Group, erased Erased, hash func(user uint32) uint32, spend func(work int)) []Due {
	erased.drop(list, groups, spend)
	at := uint32(0)
	for i := range groups {
		g := &groups[i]
		g.End, at = at, at+g.End
	}
	dst = slices.Grow(dst[:0], int(at))[:at]
	for i := range list {
		if i%gatherEach == gatherEach-1 {
			spend(1)
		}
		if o := &list[i]; o.Kind != OutDropped {
			end := &groups[o.Slot].End
			dst[*end] = Due{Hash: hash(o.User), User: o.User, Seq: o.Seq, Kind: o.Kind, At: o.At}
			*end++
		}
	}
	return dst
}

// gatherEach is how many receipts cost as much to gather as one change costs to publish.
const gatherEach = 32

// Condenser condenses the receipts of one channel after the other. It reuses its memory.
type Condenser struct {
	keys   []uint64 // the hash of each receipt's user, and below it the receipt's index
	sorted []Due
}

// Condense sorts the receipts of a channel by user, kind and seq, and drops redundant ones. Of each
// user it keeps the furthest read, and the furthest read with threads if that is less far; of each
// delivery and view of a message it keeps the earliest. ids orders two users with the same hash:
// their indexes would not do, because they depend on which channels have left memory. The result is
// valid until the next call.
func (p *Condenser) Condense(list []Due, ids func(a, b uint32) int) []Due {
	list = p.sort(list, ids)
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

// sort sorts by numbers first, which is several times as fast as comparing receipts. Hardly any user
// reads twice before a drain.
func (p *Condenser) sort(list []Due, ids func(a, b uint32) int) []Due {
	keys := p.keys[:0]
	for i := range list {
		keys = append(keys, uint64(list[i].Hash)<<32|uint64(i))
	}
	slices.Sort(keys)
	out := p.sorted[:0]
	for _, key := range keys {
		out = append(out, list[uint32(key)]) //nolint:gosec // the lower half
	}
	for from := 0; from < len(out); {
		end := from + 1
		for end < len(out) && out[end].Hash == out[from].Hash {
			end++
		}
		if end > from+1 {
			slices.SortFunc(out[from:end], func(a, b Due) int {
				if a.User != b.User {
					return ids(a.User, b.User)
				}
				return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Seq, b.Seq), cmp.Compare(b.At, a.At))
			})
		}
		from = end
	}
	p.keys, p.sorted = keys, out
	return out
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
