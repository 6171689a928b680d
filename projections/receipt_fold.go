package projections

import "slices"

// Receipts (DESIGN §4.5) are history: a public read says that its user had read up to a message at a time, or one message,
// whatever marks and epochs make of it for his own pointer. So they stand beside the suffix of held events. What a row
// keeps is the furthest public read; what else there is to know, when somebody read a message that he had passed, is kept
// in blocks of the store, one entry for each read (receipt_store.go).
//
// A read that names what is not there yet is open until the timeline decides, in a list of its own: the suffix may drop
// it earlier, for his own pointer alone.

// What a held event of exc.open is for.
const (
	forOthers = 1 << iota // a public read: a receipt
	forFar                // it is effective for the user himself
)

// maxOpen is the number of a user's reads that may be open in a scope, and of his deliveries that may wait in a channel:
// the limit on held events holds for them on their own (DESIGN §4.3).
const maxOpen = maxHeld

// track takes what a read says to others, and how far the user ever came. h is resolved. It reports false, and does
// nothing, if too much is open already.
func (p *Partition) track(ref uint32, c *channel, r *row, h *held, use uint8) bool {
	if use == 0 || r.erased() {
		return true
	}
	if h.closed {
		p.receive(ref, c, r, h, use)
		return true
	}
	x := p.ensureExc(r)
	if len(x.open) >= maxOpen {
		return false
	}
	k := *h
	k.use, k.id = use, slices.Clone(h.id)
	x.open = append(x.open, k)
	p.awaitEvent(&p.ensureExt(c).wait, &k, ref)
	p.touchExc(ref, r)
	if use&forOthers != 0 && h.by == byTime && c.headSeq > 0 {
		p.emitReceipt(ref, c, r, outRead, c.headSeq, h.at)
	}
	return true
}

// receive takes a read of which the target is known for good.
func (p *Partition) receive(ref uint32, c *channel, r *row, h *held, use uint8) {
	if h.seq == 0 {
		return // a time before all messages
	}
	if h.kind == heldSingle {
		if use&forOthers != 0 {
			p.note(c, r, advance{seq: h.seq, at: h.at, kind: entrySingle})
		}
		return
	}
	if use&forFar != 0 && h.seq > r.far {
		p.raiseFar(ref, c, r, h.seq)
	}
	if use&forOthers == 0 {
		return
	}
	p.note(c, r, advance{seq: h.seq, at: h.at, kind: entryRead})
	switch {
	case h.seq > r.public:
		r.public, r.publicAt = h.seq, h.at
		p.emitReceipt(ref, c, r, outRead, h.seq, h.at)
	case h.seq == r.public && h.at < r.publicAt:
		r.publicAt = h.at
	default:
		return
	}
	p.touchRow(ref, r)
}

// raiseFar notes that the user read further than ever: what was queued for him up to there is no longer told as such.
func (p *Partition) raiseFar(ref uint32, c *channel, r *row, seq uint32) {
	r.far = seq
	p.touchRow(ref, r)
	x := p.excOf(r)
	if x == nil || x.queued.empty() {
		return
	}
	s := p.scopeOf(c, r)
	before := p.offlineOf(c, r, &s)
	p.dropQueued(ref, r)
	if r.flags&rowMember != 0 && p.offlineOf(c, r, &s) != before {
		p.emit(ref)
	}
}

// settleOpen closes what the timeline has decided of the pair's open reads and of its deliveries that wait.
func (p *Partition) settleOpen(ref uint32) {
	r := p.rows.at(ref)
	x := p.excOf(r)
	if x == nil || len(x.open)+len(x.waiting) == 0 {
		return
	}
	c := p.chans.at(r.ch)
	n := len(x.open) + len(x.waiting)
	x.open = p.settleList(c, r, x.open, func(h *held) { p.receive(ref, c, r, h, h.use) })
	x.waiting = p.settleList(c, r, x.waiting, func(h *held) { p.deliver(ref, c, r, h) })
	if len(x.open)+len(x.waiting) != n {
		p.touchExc(ref, r)
	}
}

// settleList hands the events that are closed to take and returns those that are still open; what lapsed is in neither.
func (p *Partition) settleList(c *channel, r *row, list []held, take func(h *held)) []held {
	n := len(list)
	var closed []held
	keep := list[:0]
	for i := range list {
		h := &list[i]
		switch {
		case !p.resolve(c, r, h):
		case h.closed:
			closed = append(closed, *h)
		default:
			keep = append(keep, *h)
		}
	}
	clear(list[len(keep):n])
	for i := range closed {
		take(&closed[i])
	}
	if len(keep) == 0 {
		return nil
	}
	return keep
}

// pairOf is the row in the channel of a row's user.
func (p *Partition) pairOf(r *row) *row {
	if r.flags&rowThread != 0 {
		return p.rows.at(p.follows.at(r.scope).pair)
	}
	return r
}

// note keeps an entry for the store, if its user can be a recipient of anything up to its message: that he became a
// member later, or ever, makes no difference then.
func (p *Partition) note(c *channel, r *row, a advance) {
	pair := p.pairOf(r)
	from, ever := p.firstMember(pair)
	if !ever || from >= a.seq || pair.ord == noOrdinal {
		return
	}
	if r.flags&rowThread != 0 {
		a.thread = p.follows.at(r.scope).thread
	}
	a.ord = pair.ord
	if c.advances == 0 {
		p.advanced = append(p.advanced, advancedChannel{ci: r.ch})
		c.advanced = uint32(len(p.advanced) - 1)
	}
	a.slot, a.next = c.advanced, c.advances
	p.advanced[a.slot].end++
	c.advances = p.advances.push(a)
	p.dirtyBytes += 24
}

// furthest is the furthest that the row's user read publicly, own posts apart; open says that a time target reaches the head.
func (p *Partition) furthest(c *channel, r *row) (seq uint32, at int64, open bool) {
	seq, at = r.public, r.publicAt
	earliest, open := p.excOf(r).openTo(forOthers)
	switch {
	case !open || c.headSeq == 0:
	case c.headSeq > seq:
		seq, at = c.headSeq, earliest
	case c.headSeq == seq:
		at = min(at, earliest)
	}
	return seq, at, open
}

// openTo is the earliest time of the open reads for a use that name a time: what they reach is the head.
func (x *exc) openTo(use uint8) (earliest int64, ok bool) {
	if x == nil {
		return 0, false
	}
	for i := range x.open {
		if h := &x.open[i]; h.use&use != 0 && h.by == byTime && (!ok || h.at < earliest) {
			earliest, ok = h.at, true
		}
	}
	return earliest, ok
}

// ownLast is the newest own post of the row's scope, if posts read.
func (p *Partition) ownLast(r *row) uint32 {
	if !p.settings.SendMarksRead || r.erased() {
		return 0
	}
	return r.lastOwn
}
