package rules

import (
	"bytes"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// messagesViewed folds which messages a user played or opened (DESIGN §4.7). It makes receipts of
// single messages of any scope, and moves no pointer.
func (p *Fold) messagesViewed(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	if p.Erased(r) {
		return state.OutcomeIgnored // no list will ever have it
	}
	h.Kind, h.By = held.KindViewed, held.ByID
	there, waiting, expired := p.namedEach(c, r, m, h)
	if len(waiting) > 0 {
		x := p.EnsurePairExtra(r)
		if len(x.OpenReads)+len(waiting) > maxOpen {
			return state.OutcomeTooManyHeld
		}
		p.awaitEach(ref, c, x, waiting)
		p.TouchPairExtra(ref, r)
	}
	any := false
	for i := range there {
		any = p.view(ref, c, r, &there[i]) || any
	}
	switch {
	case expired:
		return state.OutcomeExpiredID
	case any:
		return state.OutcomeApplied
	case len(waiting) > 0:
		return state.OutcomeWaiting
	}
	return state.OutcomeDuplicate
}

// view records a view of an existing message. It reports whether anything changed: only recipients
// view messages, and only in small channels.
func (p *Fold) view(ref uint32, c *state.Channel, r *state.Row, h *held.Event) bool {
	if !p.IsSmall(c, h.Seq) || !p.MemberAt(r, h.Seq) || p.IsHiddenFrom(r, h.Seq) {
		return false
	}
	if e := p.EntryAt(c, h.Seq); bytes.Equal(e.Sender, p.UserID(r.User)) {
		return false
	}
	p.note(c, r, receipts.Entry{Seq: h.Seq, At: h.At, Kind: receipts.Viewed})
	p.newReceipt(ref, c, r, receipts.OutViewed, h.Seq, h.At)
	return true
}
