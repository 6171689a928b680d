package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// FoldDelivery folds the record of chat.deliveries at offset (DESIGN §4.2, §4.5); timestamp is the
// record's, in Unix milliseconds. The partition's Lock is held.
func (p *Fold) FoldDelivery(m *events.Delivery, offset, timestamp int64) state.Outcome {
	p.Positions[events.Deliveries] = offset + 1
	p.DeliveryTime = max(p.DeliveryTime, m.OccurredAt)
	ci, c := p.EnsureChannel(m.ChannelID)
	if c.Flags&state.ChannelDeleted != 0 {
		return state.OutcomeIgnored
	}
	p.FirstTouch(ci, c)
	ref, r := p.EnsureRow(ci, p.EnsureUser(m.UserID))
	r.LastD = offset + 1
	p.TouchRow(ref, r)
	if r.Erased() {
		return state.OutcomeIgnored // in no list, for good
	}
	h := state.PendingEvent{
		Offset: offset, At: m.OccurredAt, Now: p.DeliveryTime, By: state.ByID, ID: m.MessageID,
		Horizon: max(m.OccurredAt, min(timestamp, maxTime)) + pending.LapseAfter,
	}
	switch {
	case m.Kind == events.KindQueued:
		h.Kind = state.KindQueued
	case len(m.UpToID) > 0:
		h.Kind, h.ID = state.KindDeliveredTo, m.UpToID
	default:
		h.Kind = state.KindDelivered
	}
	if !p.Resolve(c, r, &h) {
		return h.Void()
	}
	if h.Closed {
		if !p.deliver(ref, c, r, &h) {
			return state.OutcomeDuplicate
		}
		return state.OutcomeApplied
	}
	x := p.EnsurePairExtra(r)
	if len(x.WaitingDeliveries) >= maxOpen {
		return state.OutcomeTooManyHeld
	}
	h.ID = slices.Clone(h.ID)
	x.WaitingDeliveries = append(x.WaitingDeliveries, h)
	p.awaitEvent(&p.EnsureExtra(c).Wait, &h, ref)
	p.TouchPairExtra(ref, r)
	return h.Idle()
}

// deliver takes a delivery of which the message is known. It reports whether it says anything new,
// as far as that can be told without reading the store.
func (p *Fold) deliver(ref uint32, c *state.Channel, r *state.Row, h *state.PendingEvent) bool {
	if h.Kind == state.KindQueued {
		return p.queue(ref, c, r, h.Seq)
	}
	kind, seq := uint8(receipts.Delivered), h.Seq
	if h.Kind == state.KindDeliveredTo {
		kind, seq = receipts.DeliveredTo, p.NewestSmall(c, seq) // large channels have no deliveries
		if seq == 0 {
			return false
		}
	} else if !p.IsSmall(c, seq) || !p.MemberAt(r, seq) || p.IsHiddenFrom(r, seq) {
		return false
	}
	p.note(c, r, receipts.Entry{Seq: seq, At: h.At, Kind: kind})
	p.newReceipt(ref, c, r, state.ReceiptDelivered, seq, h.At)
	return true
}

// queue records that no device could show the user a message.
func (p *Fold) queue(ref uint32, c *state.Channel, r *state.Row, seq uint32) bool {
	if seq <= p.furthestEver(r) {
		return false
	}
	x := p.EnsurePairExtra(r)
	s := p.ScopeOf(c, r)
	before := p.OfflineUnread(c, r, &s)
	if !x.Queued.Add(seq) {
		return false
	}
	p.TouchPairExtra(ref, r)
	p.ListQueued(c, ref, r)
	if r.Flags&state.RowMember == 0 {
		return false
	}
	if p.OfflineUnread(c, r, &s) == before {
		// A message that is gone may have counted before: a former owner that folded this first has
		// published that. In a small channel its end was published to the users for whom it was
		// unread.
		if c.Flags&state.ChannelLarge != 0 && (seq <= c.Floor || p.goneAt(c, seq)) {
			p.PairChanged(ref)
		}
		return false
	}
	p.PairChanged(ref)
	return true
}

// goneAt reports whether a counted message was deleted.
func (p *Fold) goneAt(c *state.Channel, seq uint32) bool {
	x := p.ExtraOf(c)
	return x != nil && x.Deleted.Contains(seq)
}
