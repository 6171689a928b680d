package state

// Waiters lists the rows to settle when something appears in a channel. Its entries are hints: one
// may be stale, none is missing.
type Waiters struct {
	IDs   map[string][]uint32 // message id -> rows
	Seqs  WaitHeap            // by seq
	Times WaitHeap            // by time
}

// WaitKey is a row that waits for a seq, a time or a horizon.
type WaitKey struct {
	Key int64
	Row uint32
}

// WaitHeap is a binary heap, smallest key first.
type WaitHeap []WaitKey

// Push adds a row that waits for key.
func (h *WaitHeap) Push(key int64, row uint32) {
	*h = append(*h, WaitKey{key, row})
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].Key <= a[i].Key {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

// Pop removes the row with the least key.
func (h *WaitHeap) Pop() uint32 {
	a := *h
	row := a[0].Row
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	*h = a
	for i := 0; ; {
		kid := 2*i + 1
		if kid >= n {
			return row
		}
		if kid+1 < n && a[kid+1].Key < a[kid].Key {
			kid++
		}
		if a[i].Key <= a[kid].Key {
			return row
		}
		a[i], a[kid] = a[kid], a[i]
		i = kid
	}
}

// AwaitID registers a row that waits for an id.
func (w *Waiters) AwaitID(id []byte, ref uint32) {
	if w.IDs == nil {
		w.IDs = map[string][]uint32{}
	}
	w.IDs[string(id)] = append(w.IDs[string(id)], ref)
}
