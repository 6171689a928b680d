package state

import "github.com/tidemark/tidemark/projections/internal/arena"

// WithThreads is how far a user's reads of a channel with its threads go (DESIGN §4.7). They reach
// each thread, also one that the user does nothing with until later, so that the row of the user in
// the channel has them. The row in a thread with marks of its own has those that its marks left:
// that thread alone looks there.
type WithThreads struct {
	To     uint32 // the furthest target, 0 = there is none
	Public uint32 // the furthest of those that are not private; in the channel's row
	Offset int64  // of the first read in order that has it
	From   int64  // reads before this offset reach the thread no more: a mark took them back
	Dirty  bool   // the record is out of date
}

// Empty reports whether there is nothing to say.
func (w *WithThreads) Empty() bool {
	return w == nil || w.Plain() && !w.Dirty
}

// Plain reports whether there is nothing to store.
func (w *WithThreads) Plain() bool { return w.To == 0 && w.Public == 0 && w.From == 0 }

// Erase forgets all of it.
func (w *WithThreads) Erase() {
	if w != nil {
		*w = WithThreads{Dirty: w.Dirty || !w.Plain()}
	}
}

// Raise takes a target in, and reports whether it is further.
func (w *WithThreads) Raise(to uint32, offset int64) bool {
	if to < w.To || to == 0 || to == w.To && offset >= w.Offset {
		return false
	}
	further := to > w.To
	w.To, w.Offset, w.Dirty = to, offset, true
	return further
}

// HeapBytes is the memory of it.
func (w *WithThreads) HeapBytes() int64 {
	if w == nil {
		return 0
	}
	return arena.ObjectBytes[WithThreads]()
}

// EnsureWithThreads is the part of a row's extra that has the reads with_threads.
func (p *State) EnsureWithThreads(r *Row) *WithThreads {
	x := p.EnsurePairExtra(r)
	if x.WithThreads == nil {
		x.WithThreads = &WithThreads{}
	}
	return x.WithThreads
}

// HasMarks reports whether the row is one in a thread with marks of its own: what reads
// with_threads reach there depends on their order.
func (r *Row) HasMarks() bool { return r.Flags&RowThread != 0 && r.Marks > 0 }
