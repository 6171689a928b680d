package projections

import (
	"slices"
)

// The fold of reads keeps, for one user in one channel, a base that is final (row and exc.singles) and what is held:
// the user's events that more timeline can still change ("open"), and those that stand behind such a one. What is held
// is kept in a normal form, a function of the timeline and the user's events alone, never of when what arrived:
//
//   - a closed read that no held mark precedes is in the base, even past reads that are open: reads commute;
//   - the first held mark is applied as soon as nothing can change what it does: when the pointer is at or past its
//     message (then it also erases the open reads before it, for they can only have moved the pointer further), or when
//     no open read is before it and its head is settled;
//   - a mark that was applied while its head is still open leaves a floorSpec behind: own posts that turn up below
//     that head do not lift the pointer. While there is one, every own post so far is below it, so row.floorH is 0;
//   - between two held marks only the furthest closed read stays, and the single reads above it.
//
// Everything that changes a normal form has a trigger (waiters): an id or a seq that appears, a time that passes, a
// lapse, an own post. Triggers are hints: settle may be called at any time and changes nothing if nothing changed.

// base is the final part of a scope, while it is worked on.
type base struct {
	ptr    uint32
	floorH uint32
	at, ev int64
}

func evRead(off int64) int64    { return off << 1 }
func evMessage(off int64) int64 { return off<<1 | 1 }

// read moves the pointer to seq if that is further. Of reads to one seq the first in order counts, though it may be
// applied last.
func (b *base) read(seq uint32, at, off int64) bool {
	if seq > b.ptr || (seq == b.ptr && seq > 0 && b.ev&1 == 0 && off < b.ev>>1) {
		b.ptr, b.at, b.ev = seq, at, evRead(off)
		return true
	}
	return false
}

// settle brings what a pair holds into normal form, and moves into the base what is final. It reports whether anything
// changed.
func (p *Partition) settle(ref uint32) bool {
	r := p.rows.at(ref)
	x := p.excOf(r)
	if x == nil || (len(x.held) == 0 && len(x.floors) == 0) {
		return false
	}
	c := p.chans.at(r.ch)
	p.keepHeldOwn(c, r, x)
	b := base{r.ptr, r.floorH, r.at, r.ev}
	changed := p.settleFloors(c, &b, x)

	n := len(x.held)
	live := x.held[:0]
	for i := range x.held {
		h := &x.held[i]
		was := h.closed
		wasHead := h.head
		if p.resolve(c, r, h) {
			changed = changed || h.closed != was || h.head != wasHead
			live = append(live, *h)
		}
	}
	clear(x.held[len(live):n])
	x.held = live
	changed = changed || len(live) != n

	for {
		m := p.foldFront(&b, x)
		changed = changed || m
		k := slices.IndexFunc(x.held, func(h held) bool { return h.kind == heldMark })
		if k < 0 || !x.held[k].closed || (x.held[k].headBy == byID && !x.held[k].head) {
			break
		}
		h := x.held[k]
		if !h.head {
			h.headSeq = c.headSeq
		}
		trial := b
		certain, effective := p.mark(c, r, &trial, &x.singles, &h, len(x.floors) > 0, k == 0)
		switch {
		case certain:
			b = trial
			x.held = slices.Delete(x.held, 0, k+1)
			p.addFloor(&b, x, &h)
		case k == 0 && h.head:
			if effective {
				b = trial
				p.addFloor(&b, x, &h)
			}
			x.held = slices.Delete(x.held, 0, 1)
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
		r.ptr, r.floorH, r.at, r.ev = b.ptr, b.floorH, b.at, b.ev
		p.touchHeld(ref, r)
	}
	return changed
}

// foldFront moves closed reads that no held mark precedes into the base.
func (p *Partition) foldFront(b *base, x *exc) bool {
	keep := x.held[:0]
	n := len(x.held)
	marked := false
	for _, h := range x.held {
		marked = marked || h.kind == heldMark
		switch {
		case marked || !h.closed:
			keep = append(keep, h)
		case h.kind == heldRead:
			b.read(h.seq, h.at, h.off)
		case h.seq > b.ptr:
			x.singles.add(h.seq)
		}
	}
	clear(x.held[len(keep):n])
	x.held = keep
	if len(keep) != n {
		x.singles.removeTo(b.ptr)
	}
	return len(keep) != n
}

// mark applies a mark whose message is known, and its head or what it is so far, to the base and its single reads.
// certain: the pointer was at or past the message, whatever is still open before it. Else the mark is applied only if
// its head is final and nothing open is before it (exact), and effective says whether it moved anything. The floor is
// the caller's to raise.
func (p *Partition) mark(c *channel, r *row, b *base, singles *seqset, h *held, floorsOpen, exact bool) (certain, effective bool) {
	low := b.floorH
	if floorsOpen {
		low = c.headSeq
	}
	o, oat, oev := p.ownIn(c, r, low, h.headSeq)
	ptr, at, ev := b.ptr, b.at, b.ev
	if o != 0 && o >= ptr {
		ptr, at, ev = o, oat, oev
	}
	if ptr >= h.seq {
		b.ptr, b.at, b.ev = h.seq-1, h.at, evRead(h.off)
		singles.removeTo(^uint32(0) - 1)
		return true, true
	}
	if exact && h.head && singles.max() >= h.seq {
		b.ptr, b.at, b.ev = ptr, at, ev
		singles.removeFrom(h.seq)
		singles.removeTo(ptr)
		return false, true
	}
	return false, false
}

// ownIn is the largest own post in (low, high], 0 if there is none, with its time and record.
func (p *Partition) ownIn(c *channel, r *row, low, high uint32) (seq uint32, at, ev int64) {
	if !p.settings.SendMarksRead {
		return 0, 0, 0
	}
	s := r.lastOwn
	if x := p.excOf(r); s > high && x != nil && x.ownKept && len(x.own) > 0 {
		i, _ := slices.BinarySearch(x.own, high+1)
		s = x.own[max(i, 1)-1]
	}
	for s > high {
		e := p.entryAt(c, s)
		s = e.previous(r)
	}
	if s <= low {
		return 0, 0, 0
	}
	e := p.entryAt(c, s)
	return s, e.time, evMessage(e.off)
}

// keepHeldOwn keeps the own posts of a user who holds several events in memory, from the heads of his marks on: each
// evaluation looks for one of them for each mark, and reading them off the log would cost their number every time.
func (p *Partition) keepHeldOwn(c *channel, r *row, x *exc) {
	if !p.settings.SendMarksRead || len(x.held) < 2 {
		return
	}
	low := r.lastOwn
	for i := range x.held {
		if h := &x.held[i]; h.kind == heldMark && h.head {
			low = min(low, h.headSeq)
		}
	}
	if low >= r.lastOwn || (x.ownKept && x.ownFrom <= low) {
		return
	}
	x.own, x.ownFrom, x.ownKept = p.ownSince(c, r, low), low, true
}

// mergeSegments drops, between held marks, the closed reads that a further one in the same segment makes idle.
func mergeSegments(x *exc) bool {
	n := len(x.held)
	first := slices.IndexFunc(x.held, func(h held) bool { return h.kind == heldMark })
	if first < 0 || first == n-1 {
		return false
	}
	keep := x.held[:first+1]
	rest := slices.Clone(x.held[first+1:])
	for len(rest) > 0 {
		end := slices.IndexFunc(rest, func(h held) bool { return h.kind == heldMark })
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
	clear(x.held[len(keep):n])
	x.held = keep
	return len(keep) != n
}

func mergeSegment(keep, seg []held) []held {
	far := -1
	for i := range seg {
		if seg[i].kind == heldRead && seg[i].closed && (far < 0 || seg[i].seq > seg[far].seq) {
			far = i
		}
	}
	for i := range seg {
		h := &seg[i]
		if h.closed && h.kind == heldRead && (i != far || h.seq == 0) {
			continue
		}
		if h.kind == heldSingle && h.closed {
			again := func(o held) bool { return o.kind == heldSingle && o.closed && o.seq == h.seq }
			if (far >= 0 && h.seq <= seg[far].seq) || slices.ContainsFunc(seg[:i], again) {
				continue
			}
		}
		keep = append(keep, *h)
	}
	return keep
}
