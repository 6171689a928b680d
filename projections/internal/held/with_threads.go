package held

import "github.com/tidemark/tidemark/projections/internal/arena"

// WithThreads states how far a user's reads of a channel with its threads reach (DESIGN §4.7). They
// reach every thread, including threads that the user does nothing with until later, so the user's
// row in the channel has them. A thread row with marks of its own has a copy that its marks have
// changed, and only that thread uses it.
type WithThreads struct {
	To     uint32 // the furthest target, 0 = there is none
	Public uint32 // the furthest target of public reads; only in the channel's row
	Offset int64  // offset of the first read, in order, with this target
	From   int64  // reads before this offset no longer reach the thread: a mark took them back
	Dirty  bool   // the record is out of date
}

// Empty reports whether there is nothing to store and no record to remove.
func (w *WithThreads) Empty() bool {
	return w == nil || w.Plain() && !w.Dirty
}

// Plain reports whether there is nothing to store.
func (w *WithThreads) Plain() bool { return w.To == 0 && w.Public == 0 && w.From == 0 }

// Erase removes the targets.
func (w *WithThreads) Erase() {
	if w != nil {
		*w = WithThreads{Dirty: w.Dirty || !w.Plain()}
	}
}

// Raise adds a target, and reports whether it is further.
func (w *WithThreads) Raise(to uint32, offset int64) bool {
	if to < w.To || to == 0 || to == w.To && offset >= w.Offset {
		return false
	}
	further := to > w.To
	w.To, w.Offset, w.Dirty = to, offset, true
	return further
}

// Targets returns a copy without Dirty. A query may make it while a cut, without the lock, resets
// Dirty.
func (w *WithThreads) Targets() WithThreads {
	return WithThreads{To: w.To, Public: w.Public, Offset: w.Offset, From: w.From}
}

// HeapBytes returns the memory of the targets.
func (w *WithThreads) HeapBytes() int64 {
	if w == nil {
		return 0
	}
	return arena.ObjectBytes[WithThreads]()
}
