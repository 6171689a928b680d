package projections

import (
	"bytes"
	"slices"
)

// waiters says which rows to settle when something appears in a channel. Its entries are hints: one may be stale, none
// is missing.
type waiters struct {
	ids   map[string][]uint32 // message id -> rows
	seqs  waitHeap            // by seq
	times waitHeap            // by time
}

type waitKey struct {
	key int64
	row uint32
}

// waitHeap is a binary heap, smallest key first.
type waitHeap []waitKey

func (h *waitHeap) push(key int64, row uint32) {
	*h = append(*h, waitKey{key, row})
	a := *h
	for i := len(a) - 1; i > 0; {
		up := (i - 1) / 2
		if a[up].key <= a[i].key {
			return
		}
		a[up], a[i] = a[i], a[up]
		i = up
	}
}

func (h *waitHeap) pop() uint32 {
	a := *h
	row := a[0].row
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	*h = a
	for i := 0; ; {
		kid := 2*i + 1
		if kid >= n {
			return row
		}
		if kid+1 < n && a[kid+1].key < a[kid].key {
			kid++
		}
		if a[i].key <= a[kid].key {
			return row
		}
		a[i], a[kid] = a[kid], a[i]
		i = kid
	}
}

// await registers the triggers of everything that is open in the pair's held events and floors.
func (p *Partition) await(ref uint32) {
	r := p.rows.at(ref)
	x := p.excOf(r)
	if x == nil || len(x.held)+len(x.floors)+len(x.open)+len(x.waiting) == 0 {
		return
	}
	w := &p.ensureExt(p.chans.at(r.ch)).wait
	for _, list := range [...][]held{x.held, x.open, x.waiting} {
		for i := range list {
			p.awaitEvent(w, &list[i], ref)
		}
	}
	for _, f := range x.floors {
		p.awaitFloor(w, f, ref)
	}
}

func (p *Partition) awaitEvent(w *waiters, h *held, ref uint32) {
	p.hints++
	if !h.closed {
		switch h.by {
		case byID:
			w.awaitID(h.id, ref)
		case bySeq:
			w.seqs.push(int64(h.seq), ref)
		case byTime:
			w.times.push(h.time, ref)
		}
		p.lapses.push(h.horizon, ref)
	}
	if h.kind == heldMark && !h.head {
		if h.headBy == byID {
			w.awaitID(h.headID, ref)
			p.lapses.push(h.horizon, ref)
		} else {
			p.awaitFloor(w, floorSpec{h.headBy, h.headVal(), h.horizon}, ref)
		}
	}
}

func (w *waiters) awaitID(id []byte, ref uint32) {
	if w.ids == nil {
		w.ids = map[string][]uint32{}
	}
	w.ids[string(id)] = append(w.ids[string(id)], ref)
}

func (p *Partition) awaitFloor(w *waiters, f floorSpec, ref uint32) {
	p.hints++
	if f.by == bySeq {
		w.seqs.push(f.val, ref)
	} else {
		w.times.push(f.val, ref)
	}
	p.lapses.push(f.horizon, ref)
}

// forgetHints makes all triggers anew when most of those that were made have nothing to wake any more: what closed
// early leaves its others behind. The cost is shared by the events that made them.
func (p *Partition) forgetHints() {
	if p.hints <= p.hintLimit {
		return
	}
	p.hints, p.lapses = 0, nil
	for _, x := range p.exts {
		if x != nil {
			x.wait = waiters{}
		}
	}
	p.rows.each(func(ref uint32, r *row) {
		if r.exc != 0 {
			p.await(ref)
		}
	})
	p.hintLimit = 2*p.hints + p.rows.len()/8 + 4096
}

// wakePosted settles what the channel's new head decides.
func (p *Partition) wakePosted(c *channel, id []byte) {
	x := p.extOf(c)
	if x == nil {
		return
	}
	w := &x.wait
	if len(w.ids) > 0 {
		if rows, ok := w.ids[string(id)]; ok {
			delete(w.ids, string(id))
			for _, ref := range rows {
				p.wake(ref)
				if p.awaitsID(ref, id) { // the message was too old for that event
					w.awaitID(id, ref)
				}
			}
		}
	}
	for len(w.seqs) > 0 && w.seqs[0].key <= int64(c.headSeq) {
		p.wake(w.seqs.pop())
	}
	for len(w.times) > 0 && w.times[0].key < c.time {
		p.wake(w.times.pop())
	}
}

// awaitsID reports whether the pair still holds an event that waits for this id.
func (p *Partition) awaitsID(ref uint32, id []byte) bool {
	x := p.excOf(p.rows.at(ref))
	waits := func(h held) bool {
		return (!h.closed && h.by == byID && bytes.Equal(h.id, id)) ||
			(h.kind == heldMark && !h.head && h.headBy == byID && bytes.Equal(h.headID, id))
	}
	return x != nil && (slices.ContainsFunc(x.held, waits) || slices.ContainsFunc(x.open, waits) || slices.ContainsFunc(x.waiting, waits))
}

// wakeLapsed settles what log time has left behind.
func (p *Partition) wakeLapsed() {
	for len(p.lapses) > 0 && p.lapses[0].key < p.logTime {
		p.wake(p.lapses.pop())
	}
}

func (p *Partition) wake(ref uint32) {
	if p.rows.at(ref).ch == 0 {
		return
	}
	p.settleOpen(ref)
	if p.settle(ref) {
		p.emitCheck(ref)
	}
}
