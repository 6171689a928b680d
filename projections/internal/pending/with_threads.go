package pending

import (
	"math"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Reads of a channel with its threads (DESIGN §4.7) reach the user's threads. Decided ones are
// stored as a target up to which each thread is read. Open ones wait in the channel's scope only,
// and the threads look them up there.

// WithThreadsOf returns how far reads with_threads reach in the thread of a row without held
// events.
func (p *Fold) WithThreadsOf(c *state.Channel, r *state.Row) held.WithThreads {
	if !p.HasMarks(r) { // most threads, in whose channel there is no such read
		if x := p.ExtraOfPair(p.PairOf(r)); x == nil || x.WithThreads == nil && len(x.OpenReads) == 0 {
			return held.WithThreads{}
		}
	}
	w := p.withThreadsOf(r)
	p.readOpen(&w, c, p.openWithThreads(r), math.MaxInt64)
	return w
}

// ThreadsReached returns how far a user's reads with_threads in the channel reach in threads
// without marks. r is the user's row in the channel.
func (p *Fold) ThreadsReached(c *state.Channel, r *state.Row) uint32 {
	x := p.ExtraOfPair(r)
	if x == nil || r.Flags&state.RowThread != 0 {
		return 0
	}
	var w held.WithThreads
	if x.WithThreads != nil {
		w = x.WithThreads.Targets()
	}
	p.readOpen(&w, c, x.OpenReads, math.MaxInt64)
	return w.To
}

// withThreadsOf returns how far decided reads with_threads reach in the thread of a row.
func (p *Fold) withThreadsOf(r *state.Row) held.WithThreads {
	of := r
	if !p.HasMarks(r) {
		of = p.PairOf(r)
	}
	if x := p.ExtraOfPair(of); x != nil && x.WithThreads != nil {
		return x.WithThreads.Targets()
	}
	return held.WithThreads{}
}

// openWithThreads returns the open reads of a thread row's user in the channel, in order. Those
// that are with_threads are open in the thread too.
func (p *Fold) openWithThreads(r *state.Row) []held.Event {
	if r.Flags&state.RowThread == 0 {
		return nil
	}
	if x := p.ExtraOfPair(p.PairOf(r)); x != nil {
		return x.OpenReads
	}
	return nil
}

// readOpen adds to w how far the open reads with_threads before an offset reach so far: a read up
// to a time reaches the head. It returns the reads from that offset on.
func (p *Fold) readOpen(w *held.WithThreads, c *state.Channel, open []held.Event, before int64) (rest []held.Event) {
	for len(open) > 0 && open[0].Offset < before {
		if h := &open[0]; h.Use&held.ForThreads != 0 && h.By == held.ByTime && h.Offset >= w.From {
			w.Raise(c.HeadSeq, h.Offset)
		}
		open = open[1:]
	}
	return open
}

// awaitsThreads reports whether a read with_threads in [from, before) is still open; before is a
// mark in the thread.
func (p *Fold) awaitsThreads(r *state.Row, from, before int64) bool {
	return slices.ContainsFunc(p.openWithThreads(r), func(h held.Event) bool {
		return h.Use&held.ForThreads != 0 && h.Offset >= from && h.Offset < before
	})
}

// forgetThreads resets the thread target after a mark that moved anything.
func (b *base) forgetThreads(h *held.Event) {
	b.threads = held.WithThreads{From: h.Offset, Dirty: true}
}
