package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A read of a channel with its threads reads each thread up to its target (DESIGN §4.7), also those
// in which the user has no row yet. So the row in the channel keeps the furthest such target, and
// whoever looks at a thread takes it in: reads commute, and only a mark in a thread asks which of
// them came before it. From its first mark on a thread keeps the targets itself (apart), as its own
// reads and marks are kept: those that came before a mark that moved anything count no
// more. A read whose target is not known yet waits in the channel alone; its threads look there
// (package pending).
//
// What a user sees is not the target but the last reply up to there. A target that no reply is
// behind changes nothing, so that not every read makes a delta for every thread.

// readThreads takes in a read with_threads of which the target is known for good, and reports
// whether it is further for the channel or for a thread with marks. The caller settles the threads
// and lists them (threadsRead).
func (p *Fold) readThreads(ref uint32, r *state.Row, h *state.PendingEvent, public bool) (further bool) {
	w := p.EnsureWithThreads(r)
	further = w.Raise(h.Seq, h.Offset)
	if public && h.Seq > w.Public {
		w.Public, w.Dirty = h.Seq, true
	}
	p.TouchPairExtra(ref, r)
	for fi := r.Scope; fi != 0; fi = p.Follows.At(fi).Sibling {
		of := p.Follows.At(fi).Row
		if t := p.Rows.At(of); t.HasMarks() {
			further = p.readApart(of, t, h) || further
		}
	}
	return further
}

// readApart takes such a read into a thread with marks: behind a mark that is held it is held too,
// and what came before a mark that moved anything is over.
func (p *Fold) readApart(ref uint32, r *state.Row, h *state.PendingEvent) bool {
	x, w := p.EnsurePairExtra(r), p.EnsureWithThreads(r)
	if h.Offset < w.From {
		return false
	}
	p.TouchPairExtra(ref, r)
	at := slices.IndexFunc(x.Unsettled, func(o state.PendingEvent) bool { return o.Offset > h.Offset })
	if at < 0 {
		at = len(x.Unsettled)
	}
	if !slices.ContainsFunc(x.Unsettled[:at], func(o state.PendingEvent) bool { return o.Kind == state.KindMark }) {
		return w.Raise(h.Seq, h.Offset)
	}
	x.Unsettled = slices.Insert(x.Unsettled, at, state.PendingEvent{Kind: state.KindWithThreads, Closed: true, Offset: h.Offset, Seq: h.Seq})
	return true
}

// part makes a thread keep for itself how far its user read the channel with its threads, before
// its first mark.
func (p *Fold) part(ref uint32, r *state.Row) {
	if r.Flags&state.RowThread == 0 || r.Marks > 0 {
		return
	}
	x := p.ExtraOfPair(p.PairOf(r))
	if x == nil || x.WithThreads == nil || x.WithThreads.To == 0 {
		return
	}
	p.EnsureWithThreads(r).Raise(x.WithThreads.To, x.WithThreads.Offset)
	p.TouchPairExtra(ref, r)
}

// showThreads moves the pointer of a thread that the user follows from a seq on to the last reply
// that reads with_threads reach, if that is further. It has no time there, so that it lists no
// thread.
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

// withoutThreads is how many events of a list the user said themselves in its scope.
func withoutThreads(list []state.PendingEvent) (n int) {
	for i := range list {
		if list[i].Kind != state.KindWithThreads {
			n++
		}
	}
	return n
}

// FurthestWithThreads is the furthest that the user of a row in a channel read it with its threads,
// publicly; at is the earliest time of such reads that are open, which reach the head.
func (p *Fold) FurthestWithThreads(c *state.Channel, r *state.Row) (seq uint32, at int64, open bool) {
	x := p.ExtraOfPair(r)
	if x == nil {
		return 0, 0, false
	}
	if x.WithThreads != nil {
		seq = x.WithThreads.Public
	}
	const both = state.ForThreads | state.ForOthers
	for i := range x.OpenReads {
		if h := &x.OpenReads[i]; h.Use&both == both && h.By == state.ByTime && c.HeadSeq > 0 {
			if seq = c.HeadSeq; !open || h.At < at {
				at = h.At
			}
			open = true
		}
	}
	return seq, at, open
}
