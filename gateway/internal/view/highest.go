package view

import "sync/atomic"

// Highest is the highest number so far, 0 before the first one.
type Highest struct{ n atomic.Int64 }

// Note adds a number.
func (h *Highest) Note(n int64) {
	for was := h.n.Load(); n > was && !h.n.CompareAndSwap(was, n); {
		was = h.n.Load()
	}
}

// Load returns the highest number.
func (h *Highest) Load() int64 { return h.n.Load() }
