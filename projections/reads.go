package projections

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// FoldRead folds the record of chat.reads at offset (DESIGN §4.3); timestamp is the record's, in Unix milliseconds.
// The partition's Lock is held.
func (p *Partition) FoldRead(m *events.Read, offset, timestamp int64) Outcome {
	p.pos[events.Reads] = offset + 1
	p.readTime = max(p.readTime, m.OccurredAt)
	near := p.warmth.nextRead()
	ci, c := p.ensureChannelNear(near.channel, m.ChannelID)
	if c.flags&chDeleted != 0 {
		p.sayFarewell(ci, m, offset)
		return OutcomeIgnored
	}
	p.firstTouch(ci, c)
	ref, r := p.ensureRowNear(near.row, ci, p.ensureUserNear(near.user, m.UserID))
	r.lastR = offset + 1
	p.touchRow(ref, r)
	if len(m.ThreadID) > 0 {
		ref, r = p.ensureThreadRow(p.ensureThread(ci, c, m.ThreadID), ref)
		p.touchRow(ref, r)
	}
	h := held{off: offset, at: m.OccurredAt, now: p.readTime, horizon: max(m.OccurredAt, min(timestamp, maxTime)) + lapseAfter}
	switch m.Kind {
	case events.KindReadUpTo:
		return p.readUpTo(ref, c, r, m, &h)
	case events.KindMessagesRead:
		return p.messagesRead(ref, c, r, m, &h)
	case events.KindMarkedUnread:
		return p.markedUnread(ref, c, r, m, &h)
	case events.KindThreadFollowed, events.KindThreadUnfollowed:
		return p.followByWord(ref, c, r, m, &h)
	case events.KindUserErased:
		return p.userErased(ref, c, r, m)
	case events.KindChannelMuted:
		if m.Muted == (r.flags&rowMuted != 0) {
			return OutcomeDuplicate
		}
		r.flags ^= rowMuted
		p.emitRead(ref, m.InstanceID)
		return OutcomeApplied
	}
	return OutcomeIgnored
}

// useOf is what a read is for besides the pointer: for others unless it is private, and for how far the user ever came
// unless it is stale.
func useOf(m *events.Read, stale bool) (use uint8) {
	if !m.Private {
		use |= forOthers
	}
	if !stale {
		use |= forFar
	}
	return use
}

// stale reports whether a read states an epoch that a mark has ended since.
func stale(r *row, epoch uint32) bool { return epoch != 0 && epoch < r.marks+1 }

// maxTime is the end of year 9999 in Unix milliseconds, where times of events end; a record's timestamp may be anything.
const maxTime = 253402300799_999

// full reports whether n more events are more than the user may hold in this scope (DESIGN §4.3). Each message that a
// messages_read waits for counts, and each head that is still open.
func full(x *exc, n int) bool {
	return x != nil && n > 0 && len(x.held)+len(x.floors)+n > maxHeld
}

func (p *Partition) readUpTo(ref uint32, c *channel, r *row, m *events.Read, h *held) Outcome {
	h.kind = heldRead
	switch m.Target {
	case events.TargetMessageID:
		h.by, h.id = byID, m.MessageID
	case events.TargetSeq:
		h.by, h.seq = bySeq, m.Seq
	case events.TargetTime:
		h.by, h.time = byTime, m.TargetTime
	}
	if !p.resolve(c, r, h) {
		return OutcomeIgnored
	}
	stale := stale(r, m.ReadEpoch)
	x := p.excOf(r)
	if !stale && full(x, 1) && !p.closedFirst(x, h) {
		return OutcomeTooManyHeld
	}
	if !p.track(ref, c, r, h, useOf(m, stale)) {
		return OutcomeTooManyHeld
	}
	if stale {
		return OutcomeIgnored
	}
	x = p.excOf(r)
	if h.closed && (x == nil || len(x.held)+len(x.floors) == 0) {
		if !p.advance(ref, r, x, h) {
			return OutcomeDuplicate
		}
		p.emitRead(ref, m.InstanceID)
		return OutcomeApplied
	}
	return p.hold(ref, c, r, h, m.InstanceID)
}

// closedFirst reports whether the event is a closed read that no mark precedes: it goes into the base at once.
func (p *Partition) closedFirst(x *exc, h *held) bool {
	return h.closed && !slices.ContainsFunc(x.held, func(o held) bool { return o.kind == heldMark })
}

// advance applies a closed read to a pair that holds nothing. It reports whether what is seen may have changed: a
// pointer that stays below the newest own post moves unseen.
func (p *Partition) advance(ref uint32, r *row, x *exc, h *held) bool {
	shown := r.ptr
	if p.settings.SendMarksRead && r.lastOwn > r.floorH {
		shown = max(shown, r.lastOwn)
	}
	if h.seq <= r.ptr {
		return false
	}
	r.ptr, r.at, r.ev = h.seq, h.at, evRead(h.off)
	if x != nil {
		x.singles.removeTo(r.ptr)
		p.touchExc(ref, r)
	}
	return h.seq > shown
}

func (p *Partition) messagesRead(ref uint32, c *channel, r *row, m *events.Read, h *held) Outcome {
	h.kind, h.by = heldSingle, byID
	stale := stale(r, m.ReadEpoch)
	if stale && m.Private {
		return OutcomeIgnored
	}
	x := p.ensureExc(r)
	before := p.signature(c, r)
	var keep []held
	waits := 0
	eachDistinct(m.IDs, func(id []byte) {
		one := *h
		one.id = id
		if p.resolve(c, r, &one) {
			keep = append(keep, one)
			if !one.closed {
				waits++
			}
		}
	})
	if (!stale && full(x, x.adds(keep))) || (!m.Private && len(x.open)+waits > maxOpen) {
		return OutcomeTooManyHeld
	}
	for i := range keep {
		p.track(ref, c, r, &keep[i], useOf(m, stale)&forOthers) // single reads do not count as how far he came
	}
	if stale {
		p.touchExc(ref, r)
		return OutcomeIgnored
	}
	for i := range keep {
		if one := &keep[i]; !one.closed || len(x.held) > 0 {
			p.keep(ref, r, x, one)
		} else if one.seq > r.ptr {
			x.singles.add(one.seq)
		}
	}
	p.settle(ref)
	p.touchExc(ref, r)
	return p.outcome(ref, c, r, before, waits > 0, m.InstanceID)
}

// adds is how many of these messages, which are read singly, would be held: those that wait, and behind a mark those that are
// there, too. Of what is held there each event of the user has to look at all.
func (x *exc) adds(singles []held) (n int) {
	marked := slices.ContainsFunc(x.held, func(h held) bool { return h.kind == heldMark })
	var there map[uint32]bool
	for i := range singles {
		h := &singles[i]
		switch {
		case !h.closed:
			n++
			continue
		case !marked:
			continue
		case there == nil:
			there = map[uint32]bool{}
			for j := range x.held {
				if o := &x.held[j]; o.kind == heldSingle && o.closed {
					there[o.seq] = true
				}
			}
		}
		if !there[h.seq] {
			there[h.seq] = true
			n++
		}
	}
	return n
}

func (p *Partition) markedUnread(ref uint32, c *channel, r *row, m *events.Read, h *held) Outcome {
	h.kind, h.by, h.id, h.headBy = heldMark, byID, m.MessageID, byTime
	switch {
	case m.HeadSeq != 0:
		h.headBy, h.time = bySeq, int64(m.HeadSeq)
	case len(m.HeadMessageID) > 0:
		h.headBy, h.headID = byID, m.HeadMessageID
	}
	x := p.ensureExc(r)
	if full(x, 1) {
		return OutcomeTooManyHeld
	}
	before := p.signature(c, r)
	r.marks++
	waits := false
	if p.resolve(c, r, h) {
		waits = !h.closed || (h.headBy == byID && !h.head)
		p.keep(ref, r, x, h)
		p.settle(ref)
		p.touchExc(ref, r)
	}
	return p.outcome(ref, c, r, before, waits, m.InstanceID)
}

// hold keeps an event that is open, or that stands behind one.
func (p *Partition) hold(ref uint32, c *channel, r *row, h *held, instance []byte) Outcome {
	before := p.signature(c, r)
	waits := !h.closed && h.by != byTime
	p.keep(ref, r, p.ensureExc(r), h)
	p.settle(ref)
	return p.outcome(ref, c, r, before, waits, instance)
}

// keep appends a copy of the event to what the pair holds and registers what it waits for.
func (p *Partition) keep(ref uint32, r *row, x *exc, h *held) {
	if len(x.held)+len(x.floors) == 0 && r.out == 0 { // nothing is left to tell
		x.seen = p.signature(p.chans.at(r.ch), r)
	}
	k := *h
	k.id, k.headID = slices.Clone(h.id), slices.Clone(h.headID)
	x.held = append(x.held, k)
	p.awaitEvent(&p.ensureExt(p.chans.at(r.ch)).wait, &k, ref)
	p.forgetHints()
	p.touchHeld(ref, r)
}

// outcome says what a read did, and marks the pair for Drain if what is seen changed.
func (p *Partition) outcome(ref uint32, c *channel, r *row, before uint64, waits bool, instance []byte) Outcome {
	if p.signature(c, r) != before {
		p.emitRead(ref, instance)
		return OutcomeApplied
	}
	if waits {
		return OutcomeWaiting
	}
	return OutcomeDuplicate
}
