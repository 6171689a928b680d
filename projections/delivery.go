package projections

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// FoldDelivery folds the record of chat.deliveries at offset (DESIGN §4.2, §4.5); timestamp is the record's, in Unix
// milliseconds. The partition's Lock is held.
func (p *Partition) FoldDelivery(m *events.Delivery, offset, timestamp int64) Outcome {
	p.pos[events.Deliveries] = offset + 1
	p.deliveryTime = max(p.deliveryTime, m.OccurredAt)
	ci, c := p.ensureChannel(m.ChannelID)
	if c.flags&chDeleted != 0 {
		return OutcomeIgnored
	}
	p.firstTouch(ci, c)
	ref, r := p.ensureRow(ci, p.ensureUser(m.UserID))
	r.lastD = offset + 1
	p.touchRow(ref, r)
	if r.erased() {
		return OutcomeIgnored // in no list, for good
	}
	h := held{
		off: offset, at: m.OccurredAt, now: p.deliveryTime, by: byID, id: m.MessageID,
		horizon: max(m.OccurredAt, min(timestamp, maxTime)) + lapseAfter,
	}
	switch {
	case m.Kind == events.KindQueued:
		h.kind = heldQueued
	case len(m.UpToID) > 0:
		h.kind, h.id = heldDeliveredTo, m.UpToID
	default:
		h.kind = heldDelivered
	}
	if !p.resolve(c, r, &h) {
		return OutcomeIgnored
	}
	if h.closed {
		if !p.deliver(ref, c, r, &h) {
			return OutcomeDuplicate
		}
		return OutcomeApplied
	}
	x := p.ensureExc(r)
	if len(x.waiting) >= maxOpen {
		return OutcomeTooManyHeld
	}
	h.id = slices.Clone(h.id)
	x.waiting = append(x.waiting, h)
	p.awaitEvent(&p.ensureExt(c).wait, &h, ref)
	p.touchExc(ref, r)
	return OutcomeWaiting
}

// deliver takes a delivery of which the message is known. It reports whether it says anything new, as far as that can be
// told without reading the store.
func (p *Partition) deliver(ref uint32, c *channel, r *row, h *held) bool {
	if h.kind == heldQueued {
		return p.queue(ref, c, r, h.seq)
	}
	kind, seq := uint8(entryDelivered), h.seq
	if h.kind == heldDeliveredTo {
		kind, seq = entryDeliveredTo, p.newestSmall(c, seq) // large channels have no deliveries
		if seq == 0 {
			return false
		}
	} else if !p.isSmall(c, seq) || !p.memberAt(r, seq) {
		return false
	}
	p.note(c, r, advance{seq: seq, at: h.at, kind: kind})
	p.emitReceipt(ref, c, r, outDelivered, seq, h.at)
	return true
}

// queue notes that nobody could show the user a message.
func (p *Partition) queue(ref uint32, c *channel, r *row, seq uint32) bool {
	if seq <= max(r.far, p.ownLast(r)) {
		return false
	}
	x := p.ensureExc(r)
	s := p.scopeOf(c, r)
	before := p.offlineOf(c, r, &s)
	if !x.queued.add(seq) {
		return false
	}
	p.touchExc(ref, r)
	p.queuedIn(c, ref, r)
	if r.flags&rowMember == 0 {
		return false
	}
	if p.offlineOf(c, r, &s) == before {
		// A message that is gone counted before: an owner that folded this first told so. In a small channel its end was told
		// to whom it was unread.
		if c.flags&chLarge != 0 && (seq <= c.floor || p.goneAt(c, seq)) {
			p.emit(ref)
		}
		return false
	}
	p.emit(ref)
	return true
}

// goneAt reports whether a counted message was deleted.
func (p *Partition) goneAt(c *channel, seq uint32) bool {
	x := p.extOf(c)
	return x != nil && x.deleted.contains(seq)
}

// dropQueued forgets what was queued up to the furthest that the user ever read.
func (p *Partition) dropQueued(ref uint32, r *row) {
	if x := p.excOf(r); x != nil && !x.queued.empty() {
		x.queued.removeTo(max(r.far, p.ownLast(r)))
		p.touchExc(ref, r)
	}
}

// offlineOf is offline_unread (DESIGN §4.2): of what is unread, what was queued and lies above the furthest that the user
// ever read.
func (p *Partition) offlineOf(c *channel, r *row, s *scope) (n uint32) {
	x := p.excOf(r)
	if x == nil || x.queued.empty() || r.flags&rowThread != 0 || (r.flags&rowMember == 0 && r.ord != noOrdinal) {
		return 0
	}
	far := max(r.far, p.ownLast(r))
	if _, open := x.openTo(forFar); open {
		far = max(far, c.headSeq)
	}
	from := max(s.from(c, r), far)
	sets := p.extOf(c)
	if len(s.own) == 0 && s.singles.max() <= from { // by rank: who is away for long has thousands queued, and each post counts them
		n = x.queued.above(from)
		if sets != nil {
			n -= x.queued.common(&sets.deleted, from) + x.queued.common(&sets.uncounted, from)
		}
		return n
	}
	for q := x.queued.next(from + 1); q != 0; q = x.queued.next(q + 1) {
		_, own := slices.BinarySearch(s.own, q)
		if !own && !s.singles.contains(q) && (sets == nil || (!sets.deleted.contains(q) && !sets.uncounted.contains(q))) {
			n++
		}
	}
	return n
}

// queuedIn remembers who has anything queued in a large channel, where messages of others make no delta otherwise.
func (p *Partition) queuedIn(c *channel, ref uint32, r *row) {
	x := p.excOf(r)
	if x == nil || x.queued.empty() || c.flags&chLarge == 0 {
		return
	}
	if e := p.ensureExt(c); !slices.Contains(e.queuers, ref) {
		e.queuers = append(e.queuers, ref)
	}
}
