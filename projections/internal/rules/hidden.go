package rules

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Hidden messages are in none of a user's numbers (DESIGN §4.7). Their producer hid them from the
// user, or the user hid them. Only an erasure undoes what the user hid, and nothing undoes the
// rest, so the order of these events does not matter.

// hideFrom hides a new message from the users that its producer lists. It runs before all other
// effects of the message.
func (p *Fold) hideFrom(ci uint32, c *state.Channel, m *events.Message, seq uint32, counted bool) {
	if len(m.HiddenFrom) == 0 {
		return
	}
	p.NeedsNewFormat(ci, c)
	history.EachDistinct(m.HiddenFrom, func(id []byte) {
		if bytes.Equal(id, m.SenderID) {
			return // a sender always sees their own message
		}
		ref, r := p.EnsureRow(ci, p.EnsureUser(id))
		tell := false
		if counted && c.Flags&state.ChannelLarge != 0 && r.Flags&state.RowMember != 0 {
			s := p.PointerOf(c, r)
			tell = !p.hiddenFromAbove(c, r, max(s.Pointer, r.Baseline)) && !p.mustAsk(c, r)
		}
		p.EnsureHidden(r).From.Add(seq)
		p.TouchPairExtra(ref, r)
		switch x := p.ExtraOfPair(r); {
		case !tell:
		case len(x.Unsettled)+len(x.Floors) > 0: // an open time target may reach the message
			p.PairMayHaveChanged(ref)
		default:
			p.PairChanged(ref)
		}
	})
}

// firstReplyFor returns the first reply of a thread that is not hidden from the user of a row in
// the channel, or 0. Nearly always that is the thread's first reply. Otherwise firstReplyFor
// searches the log up to the first visible reply.
func (p *Fold) firstReplyFor(c *state.Channel, t *state.Thread, r *state.Row) uint32 {
	if !p.IsHiddenFrom(r, t.First) {
		return t.First
	}
	for q := t.First + 1; q <= c.HeadSeq; q++ {
		if p.IsHiddenFrom(r, q) {
			continue
		}
		if t.Live.Contains(q) || t.Casts.Contains(q) {
			return q
		}
		e := p.EntryAt(c, q)
		if e.Flags&history.Silent == 0 && p.InThread(t, &e) {
			return q
		}
	}
	return 0
}

// messagesHidden folds what a user hides: single messages by id, which may have to wait for their
// messages, and everything up to a seq.
func (p *Fold) messagesHidden(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	h.Kind, h.By = held.KindHidden, held.ByID
	x := p.EnsurePairExtra(r)
	before := p.Signature(c, r)
	there, waiting, expired := p.namedEach(c, r, m, h)
	if len(x.OpenReads)+len(waiting) > maxOpen {
		return state.OutcomeTooManyHeld
	}
	p.TouchPairExtra(ref, r)
	further := m.Seq != 0 && p.hideTo(ref, c, r, m.Seq)
	changed := further
	for i := range there {
		changed = p.hideOne(c, r, there[i].Seq) || changed
	}
	p.awaitEach(ref, c, x, waiting)
	idle := state.OutcomeDuplicate
	switch {
	case expired:
		idle = state.OutcomeExpiredID
	case len(waiting) > 0:
		idle = state.OutcomeWaiting
	case changed:
		idle = state.OutcomeApplied
	}
	if further && m.Seq <= c.HeadSeq && c.Flags&state.ChannelLarge != 0 && r.Flags&state.RowMember != 0 && p.Signature(c, r) == before {
		// Nothing of that is unread. An owner that did not have all of it yet may have published Ask.
		p.readChanged(ref, m.InstanceID)
		return idle
	}
	return p.outcome(ref, c, r, before, idle, m.InstanceID)
}

// namedEach looks up the messages that an event names by id. It returns the existing ones and those
// that the event has to wait for; expired reports that one exists but is too old.
func (p *Fold) namedEach(c *state.Channel, r *state.Row, m *events.Read, h *held.Event) (there, waiting []held.Event, expired bool) {
	history.EachDistinct(m.IDs, func(id []byte) {
		one := *h
		one.ID = id
		alive := p.Resolve(c, r, &one)
		expired = expired || one.ExpiredID()
		switch {
		case alive && one.Closed:
			there = append(there, one)
		case alive:
			one.ID = slices.Clone(id)
			waiting = append(waiting, one)
		}
	})
	return there, waiting, expired
}

// awaitEach keeps events among the open reads until their messages exist.
func (p *Fold) awaitEach(ref uint32, c *state.Channel, x *state.PairExtra, waiting []held.Event) {
	for i := range waiting {
		x.OpenReads = append(x.OpenReads, waiting[i])
		p.awaitEvent(&p.EnsureExtra(c).Wait, &waiting[i], ref)
	}
	p.forgetHints()
}

// hideTo hides everything up to a seq, and reports whether that is further than before.
func (p *Fold) hideTo(ref uint32, c *state.Channel, r *state.Row, seq uint32) bool {
	h := p.EnsureHidden(r)
	if seq <= h.To {
		return false
	}
	h.To, h.ToDirty = seq, true
	h.Own.RemoveTo(seq)
	p.awaitHidden(ref, c, h)
	p.forgetHints()
	p.followsChanged(r)
	return true
}

// hideOne hides a message, and reports whether it was not hidden before.
func (p *Fold) hideOne(c *state.Channel, r *state.Row, seq uint32) bool {
	h := p.EnsureHidden(r)
	if seq <= h.To || !h.Own.Add(seq) {
		return false
	}
	if p.RareOf(r).Scope == 0 {
		return true // no thread has a row for them
	}
	if e := p.EntryAt(c, seq); e.Flags&history.Reply != 0 {
		if ti := p.ThreadOfEntry(r.Channel, c, &e); ti != 0 {
			if ref := p.ThreadRowOf(ti, r.User); ref != 0 {
				p.PairMayHaveChanged(ref)
			}
		}
	}
	return true
}

// hideFound hides a message that the user hid before it was posted.
func (p *Fold) hideFound(ref uint32, c *state.Channel, r *state.Row, seq uint32) {
	before := p.Signature(c, r)
	if !p.hideOne(c, r, seq) {
		return
	}
	p.TouchPairExtra(ref, r)
	if p.Signature(c, r) != before {
		p.PairChanged(ref)
	}
}
