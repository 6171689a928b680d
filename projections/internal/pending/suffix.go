package pending

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// For one user in one channel, the fold of reads keeps a final base (row and extra.Singles) and the
// held events: those that more timeline can still change ("open"), and those that stand behind an
// open one. Pending events are kept in a normal form. It is a function of the timeline and of the
// user's events only, never of their order of arrival:
//
//   - a closed read that no held mark precedes is in the base, even past reads that are open: reads
//     commute;
//   - the first held mark is applied as soon as nothing can change its effect: when the pointer is
//     at or past its message (then the mark also erases the open reads before it, because they can
//     only have moved the pointer further), or when no open read is before it and its head is
//     settled;
//   - a mark that was applied while its head is still open leaves a Floor behind: own posts
//     that appear below that head do not lift the pointer. While there is a Floor, every own
//     post so far is below it, so Rare.OwnFloor is 0;
//   - between two held marks only the furthest closed read stays, and the single reads above it.
//
// Everything that changes a normal form has a trigger (state.Waiters): an id or a seq that appears,
// a time that passes, a lapse, an own post. Triggers are hints: you may call Settle at any time,
// and it changes nothing if nothing changed.

// Fold is a state with the operations on its pending events.
type Fold struct{ state.State }

// base is the final part of a scope while Settle works on it.
type base struct {
	ptr     uint32
	floorH  uint32
	at, ev  int64
	threads held.WithThreads // only for a thread: how far reads of the channel with its threads reach
}

// baseOf returns the base of a row.
func (p *Fold) baseOf(r *state.Row) base {
	b := base{ptr: r.Pointer, floorH: p.RareOf(r).OwnFloor, at: r.At(), ev: r.Event()}
	if r.Flags&state.RowThread != 0 {
		b.threads = p.withThreadsOf(r)
	}
	return b
}

// read moves the pointer to seq if that is further. Of several reads to one seq the first by offset
// counts, even if it is applied last.
func (b *base) read(seq uint32, at, off int64) bool {
	if seq > b.ptr || (seq == b.ptr && seq > 0 && b.ev&1 == 0 && off < b.ev>>1) {
		b.ptr, b.at, b.ev = seq, at, EvRead(off)
		return true
	}
	return false
}

// Settle brings the held events of a pair into normal form and moves final ones into the base. It
// reports whether anything changed.
func (p *Fold) Settle(ref uint32) bool {
	r := p.Rows.At(ref)
	x := p.ExtraOfPair(r)
	if x == nil || (len(x.Unsettled) == 0 && len(x.Floors) == 0) {
		return false
	}
	c := p.Channels.At(r.Channel)
	p.keepPendingOwn(c, r, x)
	b := p.baseOf(r)
	changed := p.settleFloors(c, &b, x)

	n := len(x.Unsettled)
	live := x.Unsettled[:0]
	for i := range x.Unsettled {
		h := &x.Unsettled[i]
		was, wasHead, wasBy, wasUse := h.Closed, h.Head, h.By, h.Use
		if p.ResolvePending(ref, c, r, h) {
			changed = changed || h.Closed != was || h.Head != wasHead || h.By != wasBy || h.Use != wasUse
			live = append(live, *h)
		}
	}
	clear(x.Unsettled[len(live):n])
	x.Unsettled = live
	changed = changed || len(live) != n

	for {
		m := p.foldFront(&b, x)
		changed = changed || m
		k := slices.IndexFunc(x.Unsettled, func(h held.Event) bool { return h.Kind == held.KindMark })
		if k < 0 || !x.Unsettled[k].Closed || (x.Unsettled[k].HeadBy == held.ByID && !x.Unsettled[k].Head) || !p.keepsHead(&x.Unsettled[k]) {
			break
		}
		h := x.Unsettled[k]
		if !h.Head {
			h.HeadSeq = c.HeadSeq
		}
		trial := b
		first := k == 0 && !p.awaitsThreads(r, b.threads.From, h.Offset)
		certain, effective := p.mark(c, r, &trial, &x.Singles, &h, p.openFloor(c, x), first)
		switch {
		case certain:
			b = trial
			x.Unsettled = slices.Delete(x.Unsettled, 0, k+1)
			p.addFloor(&b, x, &h)
		case first && h.Head:
			if effective {
				b = trial
				p.addFloor(&b, x, &h)
			}
			x.Unsettled = slices.Delete(x.Unsettled, 0, 1)
		default:
			k = -1
		}
		if k < 0 {
			break
		}
		changed = true
	}
	if mergeSegments(x) {
		changed = true
	}
	if changed {
		p.Move(r, b.ptr, b.at, b.ev)
		p.EnsureRare(r).OwnFloor = b.floorH
		if b.threads.Dirty && p.HasMarks(r) {
			*p.EnsureWithThreads(r) = b.threads
		}
		p.TouchPair(ref, r)
	}
	return changed
}

// foldFront moves closed reads that no held mark precedes into the base.
func (p *Fold) foldFront(b *base, x *state.PairExtra) bool {
	keep := x.Unsettled[:0]
	n := len(x.Unsettled)
	marked := false
	for _, h := range x.Unsettled {
		marked = marked || h.Kind == held.KindMark
		switch {
		case marked || !h.Closed:
			keep = append(keep, h)
		case h.Kind == held.KindRead:
			b.read(h.Seq, h.At, h.Offset)
		case h.Kind == held.KindWithThreads:
			b.threads.Raise(h.Seq, h.Offset)
		case h.Seq > b.ptr:
			x.Singles.Add(h.Seq)
		}
	}
	clear(x.Unsettled[len(keep):n])
	x.Unsettled = keep
	if len(keep) != n {
		x.Singles.RemoveTo(b.ptr)
	}
	return len(keep) != n
}

// mark applies a mark to the base and its single reads. The mark's message is known; its head is
// final or the head so far. certain reports that the pointer was at or past the message, whatever
// is still open before the mark. Otherwise mark applies it only if its head is final and nothing
// open precedes it (exact), and effective reports whether it moved anything. open is how far open
// floors reach. The caller raises the floor.
func (p *Fold) mark(c *state.Channel, r *state.Row, b *base, singles *seqset.Set, h *held.Event, open uint32, exact bool) (certain, effective bool) {
	low := max(b.floorH, open)
	o, oat, oev := p.ownIn(c, r, low, h.HeadSeq)
	ptr, at, ev := b.ptr, b.at, b.ev
	if o != 0 && o >= ptr {
		ptr, at, ev = o, oat, oev
	}
	if max(ptr, b.threads.To) >= h.Seq {
		b.forgetThreads(h)
		b.ptr, b.at, b.ev = h.Seq-1, h.At, EvRead(h.Offset)
		singles.RemoveTo(^uint32(0) - 1)
		return true, true
	}
	if exact && h.Head && singles.Max() >= h.Seq {
		b.ptr, b.at, b.ev = ptr, at, ev
		singles.RemoveFrom(h.Seq)
		singles.RemoveTo(ptr)
		return false, true
	}
	return false, false
}

// mergeSegments drops, between held marks, each closed read that a further one in the same segment
// makes redundant.
func mergeSegments(x *state.PairExtra) bool {
	n := len(x.Unsettled)
	first := slices.IndexFunc(x.Unsettled, func(h held.Event) bool { return h.Kind == held.KindMark })
	if first < 0 || first == n-1 {
		return false
	}
	keep := x.Unsettled[:first+1]
	rest := slices.Clone(x.Unsettled[first+1:])
	for len(rest) > 0 {
		end := slices.IndexFunc(rest, func(h held.Event) bool { return h.Kind == held.KindMark })
		if end < 0 {
			end = len(rest)
		}
		keep = mergeSegment(keep, rest[:end])
		if end < len(rest) {
			keep = append(keep, rest[end])
			end++
		}
		rest = rest[end:]
	}
	clear(x.Unsettled[len(keep):n])
	x.Unsettled = keep
	return len(keep) != n
}

func mergeSegment(keep, seg []held.Event) []held.Event {
	far, threads := -1, -1
	for i := range seg {
		if seg[i].Kind == held.KindRead && seg[i].Closed && (far < 0 || seg[i].Seq > seg[far].Seq) {
			far = i
		}
		if seg[i].Kind == held.KindWithThreads && (threads < 0 || seg[i].Seq > seg[threads].Seq) {
			threads = i
		}
	}
	for i := range seg {
		h := &seg[i]
		if h.Closed && h.Kind == held.KindRead && (i != far || h.Seq == 0) || h.Kind == held.KindWithThreads && i != threads {
			continue
		}
		if h.Kind == held.KindSingle && h.Closed {
			repeats := func(o held.Event) bool { return o.Kind == held.KindSingle && o.Closed && o.Seq == h.Seq }
			if (far >= 0 && h.Seq <= seg[far].Seq) || slices.ContainsFunc(seg[:i], repeats) {
				continue
			}
		}
		keep = append(keep, *h)
	}
	return keep
}
