package pending

import (
	"math"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// Reads of a channel with its threads (DESIGN §4.7) reach the user's threads. What is decided of
// them is a target up to which each thread is read; what is open waits in the channel's scope
// alone, and the threads look there.

// WithThreadsOf is how far reads with_threads reach in the thread of a row that holds nothing.
func (p *Held) WithThreadsOf(c *state.Channel, r *state.Row) state.WithThreads {
	if !r.HasMarks() { // most threads, of whose channel there is nothing
		if x := p.ExtraOfPair(p.PairOf(r)); x == nil || x.WithThreads == nil && len(x.OpenReads) == 0 {
			return state.WithThreads{}
		}
	}
	w := p.withThreadsOf(r)
	readOpen(&w, c, p.openWithThreads(r), math.MaxInt64)
	return w
}

// ThreadsReached is how far the reads with_threads of the user of a row in the channel reach in
// threads without marks.
func (p *Held) ThreadsReached(c *state.Channel, r *state.Row) uint32 {
	x := p.ExtraOfPair(r)
	if x == nil || r.Flags&state.RowThread != 0 {
		return 0
	}
	var w state.WithThreads
	if x.WithThreads != nil {
		w = *x.WithThreads
	}
	readOpen(&w, c, x.OpenReads, math.MaxInt64)
	return w.To
}

// withThreadsOf is how far reads with_threads that are decided reach in the thread of a row.
func (p *Held) withThreadsOf(r *state.Row) state.WithThreads {
	of := r
	if !r.HasMarks() {
		of = p.PairOf(r)
	}
	if x := p.ExtraOfPair(of); x != nil && x.WithThreads != nil {
		return *x.WithThreads
	}
	return state.WithThreads{}
}

// openWithThreads are the open reads of the user of a row in a thread in the channel, in order:
// what is with_threads there is open in the thread.
func (p *Held) openWithThreads(r *state.Row) []state.PendingEvent {
	if r.Flags&state.RowThread == 0 {
		return nil
	}
	if x := p.ExtraOfPair(p.PairOf(r)); x != nil {
		return x.OpenReads
	}
	return nil
}

// readOpen takes in what open reads with_threads before an offset reach so far: those up to a time
// reach the head. It returns the others.
func readOpen(w *state.WithThreads, c *state.Channel, open []state.PendingEvent, before int64) (rest []state.PendingEvent) {
	for len(open) > 0 && open[0].Offset < before {
		if h := &open[0]; h.Use&state.ForThreads != 0 && h.By == state.ByTime && h.Offset >= w.From {
			w.Raise(c.HeadSeq, h.Offset)
		}
		open = open[1:]
	}
	return open
}

// awaitsThreads reports whether a read with_threads from before a mark in a thread is still open.
func (p *Held) awaitsThreads(r *state.Row, from, before int64) bool {
	return slices.ContainsFunc(p.openWithThreads(r), func(h state.PendingEvent) bool {
		return h.Use&state.ForThreads != 0 && h.Offset >= from && h.Offset < before
	})
}

// forgetThreads is what a mark that moved anything leaves.
func (b *base) forgetThreads(h *state.PendingEvent) {
	b.threads = state.WithThreads{From: h.Offset, Dirty: true}
}
