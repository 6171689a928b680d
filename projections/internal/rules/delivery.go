package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// FoldDelivery folds the record of chat.deliveries at offset (DESIGN §4.2, §4.5); timestamp is the
// record's, in Unix milliseconds. The caller holds the partition's Lock.
func (p *Fold) FoldDelivery(m *events.Delivery, offset, timestamp int64) state.Outcome {
	p.Positions[events.Deliveries] = offset + 1
	p.DeliveryTime = max(p.DeliveryTime, m.OccurredAt)
	ci, c := p.EnsureChannel(m.ChannelID)
	if c.Flags&state.ChannelDeleted != 0 {
		return state.OutcomeIgnored
	}
	p.FirstTouch(ci, c)
	ref, r := p.EnsureRow(ci, p.EnsureUser(m.UserID))
	p.EnsureRare(r).LastD = offset + 1
	p.TouchRow(ref, r)
	if p.Erased(r) {
		return state.OutcomeIgnored // no list will ever have it
	}
	h := held.Event{
		Offset: offset, At: m.OccurredAt, Now: p.DeliveryTime, By: held.ByID, ID: m.MessageID,
		Horizon: max(m.OccurredAt, min(timestamp, maxTime)) + pending.LapseAfter,
	}
	switch {
	case m.Kind == events.KindQueued:
		h.Kind = held.KindQueued
	case len(m.UpToID) > 0:
		h.Kind, h.ID = held.KindDeliveredTo, m.UpToID
	default:
		h.Kind = held.KindDelivered
	}
	if !p.Resolve(c, r, &h) {
		return pending.Void(&h)
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
	return pending.Idle(&h)
}

// deliver applies a delivery whose message is known. It reports whether the delivery may be new, as
// far as memory can tell without the store.
func (p *Fold) deliver(ref uint32, c *state.Channel, r *state.Row, h *held.Event) bool {
	if h.Kind == held.KindQueued {
		return p.queue(ref, c, r, h.Seq)
	}
	kind, seq := uint8(receipts.Delivered), h.Seq
	if h.Kind == held.KindDeliveredTo {
		kind, seq = receipts.DeliveredTo, p.NewestSmall(c, seq) // large channels have no deliveries
		if seq == 0 {
			return false
		}
	} else if !p.IsSmall(c, seq) || !p.MemberAt(r, seq) || p.IsHiddenFrom(r, seq) {
		return false
	}
	p.note(c, r, receipts.Entry{Seq: seq, At: h.At, Kind: kind})
	p.newReceipt(ref, c, r, receipts.OutDelivered, seq, h.At)
	return true
}

// queue records that no device of the user could show a message.
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
		// This message is gone, but may have counted earlier: a former owner that folded this
		// delivery before the deletion has published that. In a small channel, the deletion
		// published deltas for the users who had the message unread.
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
