package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A read of a channel with its threads reads each thread up to its target (DESIGN §4.7), including
// threads in which the user has no row yet. So the row in the channel keeps the furthest such
// target, and evaluating a thread includes it: reads commute, and only a mark in a thread depends
// on which of them came before it. From its first mark on, a thread keeps these targets itself,
// together with its own reads and marks; targets from before a mark that moved anything no longer
// count. A read whose target is not known yet waits in the channel only, and its threads look there
// (package pending).
//
// Users see the last reply up to the target, not the target itself. A target without a new reply
// changes nothing, so most reads make no deltas for threads.

// readThreads applies a read with_threads whose target is final, and reports whether it reaches
// further in the channel or in a thread with marks. The caller settles the threads and lists them
// (threadsRead).
func (p *Fold) readThreads(ref uint32, r *state.Row, h *held.Event, public bool) (further bool) {
	w := p.EnsureWithThreads(r)
	further = w.Raise(h.Seq, h.Offset)
	if public && h.Seq > w.Public {
		w.Public, w.Dirty = h.Seq, true
	}
	p.TouchPairExtra(ref, r)
	for fi := p.RareOf(r).Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		of := p.Follows.At(fi).Row
		if t := p.Rows.At(of); p.HasMarks(t) {
			further = p.readApart(of, t, h) || further
		}
	}
	return further
}

// readApart applies such a read to a thread with marks. Behind a held mark the read is held too. A
// read from before a mark that moved anything has no effect.
func (p *Fold) readApart(ref uint32, r *state.Row, h *held.Event) bool {
	x, w := p.EnsurePairExtra(r), p.EnsureWithThreads(r)
	if h.Offset < w.From {
		return false
	}
	p.TouchPairExtra(ref, r)
	at := slices.IndexFunc(x.Unsettled, func(o held.Event) bool { return o.Offset > h.Offset })
	if at < 0 {
		at = len(x.Unsettled)
	}
	if !slices.ContainsFunc(x.Unsettled[:at], func(o held.Event) bool { return o.Kind == held.KindMark }) {
		return w.Raise(h.Seq, h.Offset)
	}
	x.Unsettled = slices.Insert(x.Unsettled, at, held.Event{Kind: held.KindWithThreads, Closed: true, Offset: h.Offset, Seq: h.Seq})
	return true
}

// keepThreadTargets copies how far the user read the channel with its threads into a thread's own
// row, before its first mark.
func (p *Fold) keepThreadTargets(ref uint32, r *state.Row) {
	if r.Flags&state.RowThread == 0 || p.RareOf(r).Marks > 0 {
		return
	}
	x := p.ExtraOfPair(p.PairOf(r))
	if x == nil || x.WithThreads == nil || x.WithThreads.To == 0 {
		return
	}
	p.EnsureWithThreads(r).Raise(x.WithThreads.To, x.WithThreads.Offset)
	p.TouchPairExtra(ref, r)
}

// showThreads moves the pointer of a followed thread to the last reply that reads with_threads
// reach, if that is further. from is the seq from which the user follows. The moved pointer has no
// time, so it does not list the thread.
func (p *Fold) showThreads(r *state.Row, s *ThreadScope, from uint32) {
	low := max(s.Pointer, from)
	if s.threads.To <= low {
		return
	}
	h := p.HiddenOf(r)
	q := s.Thread.Live.Prev(s.threads.To)
	for h != nil && q > low && h.From.Contains(q) {
		q = s.Thread.Live.Prev(h.From.PrevAbsent(q))
	}
	if q > low {
		s.Pointer, s.At, s.Ev = q, 0, pending.EvRead(s.threads.Offset)
	}
}

// FurthestWithThreads returns how far the user has publicly read the channel with its threads. If
// such reads are open and reach the message past, at is the earliest of their times.
func (p *Fold) FurthestWithThreads(c *state.Channel, r *state.Row, past uint32) (seq uint32, at int64, open bool) {
	x := p.ExtraOfPair(r)
	if x == nil {
		return 0, 0, false
	}
	if x.WithThreads != nil {
		seq = x.WithThreads.Public
	}
	to, at, open := p.OpenTo(c, x, held.ForThreads|held.ForOthers, past)
	return max(seq, to), at, open && to > 0
}
