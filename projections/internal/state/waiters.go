package state

import "github.com/tidemark/tidemark/projections/internal/arena"

// Waiters lists the rows to settle when something appears in a channel. Its entries are hints: one
// may be stale, none is missing.
type Waiters struct {
	IDs   map[string][]uint32 // message id -> rows
	Seqs  arena.Heap          // by seq
	Times arena.Heap          // by time
}

// AwaitID registers a row that waits for an id.
func (w *Waiters) AwaitID(id []byte, ref uint32) {
	if w.IDs == nil {
		w.IDs = map[string][]uint32{}
	}
	w.IDs[string(id)] = append(w.IDs[string(id)], ref)
}
