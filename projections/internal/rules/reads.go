package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/pending"
	"github.com/tidemark/tidemark/projections/internal/receipts"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// FoldRead folds the record of chat.reads at offset (DESIGN §4.3); timestamp is the record's, in
// Unix milliseconds. The caller holds the partition's Lock.
func (p *Fold) FoldRead(m *events.Read, offset, timestamp int64) state.Outcome {
	p.Positions[events.Reads] = offset + 1
	p.ReadTime = max(p.ReadTime, m.OccurredAt)
	near := p.Warmth.NextRead()
	ci, c := p.EnsureChannelNear(near.Channel, m.ChannelID)
	if c.Flags&state.ChannelDeleted != 0 {
		p.noteFarewell(ci, m, offset)
		return state.OutcomeIgnored
	}
	p.FirstTouch(ci, c)
	ref, r := p.EnsureRowNear(near.Row, ci, p.EnsureUserNear(near.User, m.UserID))
	defer p.noteRead(r, offset)
	p.TouchRow(ref, r)
	if len(m.ThreadID) > 0 {
		ref, r = p.EnsureThreadRow(p.EnsureThread(ci, c, m.ThreadID), ref)
		p.TouchRow(ref, r)
	}
	h := held.Event{Offset: offset, At: m.OccurredAt, Now: p.ReadTime, Horizon: p.HorizonOf(max(m.OccurredAt, min(timestamp, maxTime))+pending.LapseAfter, p.ReadTime)}
	switch m.Kind {
	case events.KindReadUpTo:
		if m.WithThreads {
			p.NeedsNewFormat(ci, c)
		}
		return p.unflag(ref, c, m, p.flagOf(r, m), p.readUpTo(ref, c, r, m, &h))
	case events.KindMessagesRead:
		return p.unflag(ref, c, m, p.flagOf(r, m), p.messagesRead(ref, c, r, m, &h))
	case events.KindMarkedUnread:
		return p.markedUnread(ref, c, r, m, &h)
	case events.KindThreadFollowed, events.KindThreadUnfollowed:
		return p.followByWord(ref, c, r, m, &h)
	case events.KindUserErased:
		return p.userErased(ref, c, r, m)
	case events.KindChannelMuted:
		return p.notifySet(ref, r, levelOf(m.Muted), 0, events.NotStated, m.InstanceID)
	case events.KindNotifySet:
		return p.notifySet(ref, r, m.Level, m.Until, m.IgnoreAll, m.InstanceID)
	case events.KindMessagesHidden:
		p.NeedsNewFormat(ci, c)
		return p.messagesHidden(ref, c, r, m, &h)
	case events.KindFlagSet:
		return p.flagSet(ref, c, r, m, &h)
	case events.KindChannelFiled:
		return p.channelFiled(ref, c, r, m, &h)
	case events.KindMessagesViewed:
		p.NeedsNewFormat(ci, c)
		return p.messagesViewed(ref, c, r, m, &h)
	case events.KindLineSet:
		return p.lineSet(ref, r, m)
	case events.KindLabelsSet:
		return p.labelsSet(ref, r, m)
	}
	return state.OutcomeIgnored
}

// useOf returns the uses of a read besides the pointer: for others unless it is private, for the
// furthest read ever unless it is stale, and for the threads if it is with_threads and not stale.
func useOf(m *events.Read, stale bool) (use uint8) {
	if !m.Private {
		use |= held.ForOthers
	}
	if !stale {
		use |= held.ForFar
		if m.WithThreads {
			use |= held.ForThreads
		}
	}
	return use
}

// maxTime is the end of year 9999 in Unix milliseconds, the latest time of an event. A record's
// timestamp may be anything.
const maxTime = 253402300799_999

func (p *Fold) readUpTo(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	h.Kind = held.KindRead
	switch m.Target {
	case events.TargetMessageID:
		h.By, h.ID = held.ByID, m.MessageID
	case events.TargetSeq:
		h.By, h.Seq = held.BySeq, m.Seq
	case events.TargetTime:
		h.By, h.Time = held.ByTime, m.TargetTime
	}
	if !p.Resolve(c, r, h) {
		return pending.Void(h)
	}
	stale := p.EpochEnded(r, m.ReadEpoch)
	if use := useOf(m, stale); r.Rare == 0 && use == held.ForOthers|held.ForFar && h.Closed && h.Seq > r.Pointer {
		if !p.plainRead(ref, c, r, h) {
			return state.OutcomeDuplicate
		}
		p.readChanged(ref, m.InstanceID)
		return state.OutcomeApplied
	}
	x := p.ExtraOfPair(r)
	if !stale && pending.Full(x, 1) && !p.closedFirst(x, h) {
		return state.OutcomeTooManyHeld
	}
	tracked, threads := p.track(ref, c, r, h, useOf(m, stale))
	if !tracked {
		return state.OutcomeTooManyHeld
	}
	if stale {
		return state.OutcomeIgnored
	}
	out := p.moveTo(ref, c, r, h, m.InstanceID)
	if threads && p.echoInThreads(r, m.InstanceID) {
		return state.OutcomeApplied
	}
	return out
}

// plainRead is track and moveTo for a read that goes further than any before it, of a user without a
// Rare: the row implies what both record. It reports whether the view has changed.
func (p *Fold) plainRead(ref uint32, c *state.Channel, r *state.Row, h *held.Event) bool {
	shown := p.shownOf(r)
	p.note(c, r, receipts.Entry{Seq: h.Seq, At: h.At, Kind: receipts.Read})
	p.newReceipt(ref, c, r, receipts.OutRead, h.Seq, h.At)
	r.Place(h.Seq, h.At, pending.EvRead(h.Offset))
	return h.Seq > shown
}

// shownOf returns the pointer of a row without held events, with the newest own post that lifts it.
func (p *Fold) shownOf(r *state.Row) uint32 {
	if own, _ := p.NewestRead(r); own > p.RareOf(r).OwnFloor {
		return max(r.Pointer, own)
	}
	return r.Pointer
}

// noteRead records the offset of the user's last record in chat.reads.
func (p *Fold) noteRead(r *state.Row, offset int64) {
	if p.LastR(r) != offset+1 {
		p.EnsureRare(r).LastR = offset + 1
		p.Imply(r)
	}
}

// moveTo applies a read to the pointer of its own scope.
func (p *Fold) moveTo(ref uint32, c *state.Channel, r *state.Row, h *held.Event, instance []byte) state.Outcome {
	x := p.ExtraOfPair(r)
	if h.Closed && (x == nil || len(x.Unsettled)+len(x.Floors) == 0) {
		if !p.advance(ref, r, x, h) {
			return state.OutcomeDuplicate
		}
		p.readChanged(ref, instance)
		return state.OutcomeApplied
	}
	return p.hold(ref, c, r, h, instance)
}

// closedFirst reports whether the event is a closed read that no mark precedes. Such a read goes
// into the base at once.
func (p *Fold) closedFirst(x *state.PairExtra, h *held.Event) bool {
	return h.Closed && !slices.ContainsFunc(x.Unsettled, func(o held.Event) bool { return o.Kind == held.KindMark })
}

// advance applies a closed read to a pair without held events. It reports whether the view may have
// changed: a pointer that stays below the newest own post moves unseen.
func (p *Fold) advance(ref uint32, r *state.Row, x *state.PairExtra, h *held.Event) bool {
	shown := p.shownOf(r)
	if h.Seq <= r.Pointer {
		return false
	}
	p.Move(r, h.Seq, h.At, pending.EvRead(h.Offset))
	if x != nil {
		x.Singles.RemoveTo(r.Pointer)
		p.TouchPairExtra(ref, r)
	}
	return h.Seq > shown
}

func (p *Fold) messagesRead(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	h.Kind, h.By = held.KindSingle, held.ByID
	stale := p.EpochEnded(r, m.ReadEpoch)
	if stale && m.Private {
		return state.OutcomeIgnored
	}
	x := p.EnsurePairExtra(r)
	before := p.Signature(c, r)
	var keep []held.Event
	waits, expired := 0, false
	history.EachDistinct(m.IDs, func(id []byte) {
		one := *h
		one.ID = id
		alive := p.Resolve(c, r, &one)
		expired = expired || one.ExpiredID()
		if alive {
			keep = append(keep, one)
			if !one.Closed {
				waits++
			}
		}
	})
	if (!stale && pending.Full(x, pending.Adds(x, keep))) || (!m.Private && len(x.OpenReads)+waits > maxOpen) {
		return state.OutcomeTooManyHeld
	}
	for i := range keep {
		p.track(ref, c, r, &keep[i], useOf(m, stale)&held.ForOthers) // single reads do not raise the furthest read
	}
	if stale {
		p.TouchPairExtra(ref, r)
		return state.OutcomeIgnored
	}
	for i := range keep {
		if one := &keep[i]; !one.Closed || len(x.Unsettled) > 0 {
			p.keep(ref, r, x, one)
		} else if one.Seq > r.Pointer {
			x.Singles.Add(one.Seq)
		}
	}
	p.Settle(ref)
	p.TouchPairExtra(ref, r)
	idle := state.OutcomeDuplicate
	switch {
	case expired:
		idle = state.OutcomeExpiredID
	case waits > 0:
		idle = state.OutcomeWaiting
	}
	return p.outcome(ref, c, r, before, idle, m.InstanceID)
}

func (p *Fold) markedUnread(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	h.Kind, h.By, h.ID, h.Seq, h.HeadBy = held.KindMark, held.ByID, m.MessageID, m.Seq, held.ByTime
	if len(m.MessageID) == 0 {
		h.By = held.BySeq
	}
	switch {
	case m.HeadSeq != 0:
		h.HeadBy, h.Time = held.BySeq, int64(m.HeadSeq)
	case len(m.HeadMessageID) > 0:
		h.HeadBy, h.HeadID = held.ByID, m.HeadMessageID
	}
	x := p.EnsurePairExtra(r)
	if pending.Full(x, 1) {
		return state.OutcomeTooManyHeld
	}
	before := p.Signature(c, r)
	p.keepThreadTargets(ref, r)
	p.EnsureRare(r).Marks++
	if p.Resolve(c, r, h) {
		p.keep(ref, r, x, h)
		p.Settle(ref)
		p.TouchPairExtra(ref, r)
	}
	out := p.outcome(ref, c, r, before, pending.Idle(h), m.InstanceID)
	if h.ExpiredID() {
		return state.OutcomeExpiredID // only the epoch moved
	}
	return out
}

// hold holds an event that is open, or that stands behind an open one.
func (p *Fold) hold(ref uint32, c *state.Channel, r *state.Row, h *held.Event, instance []byte) state.Outcome {
	before := p.Signature(c, r)
	p.keep(ref, r, p.EnsurePairExtra(r), h)
	p.Settle(ref)
	return p.outcome(ref, c, r, before, pending.Idle(h), instance)
}

// keep appends a copy of the event to the pair's held events and registers its triggers.
func (p *Fold) keep(ref uint32, r *state.Row, x *state.PairExtra, h *held.Event) {
	if len(x.Unsettled)+len(x.Floors) == 0 {
		if x.LastSeen = state.SeenUnknown; r.Flags&state.RowListed == 0 { // nothing is waiting to be published
			x.LastSeen = p.Signature(p.Channels.At(r.Channel), r)
		}
	}
	k := *h
	k.ID, k.HeadID = slices.Clone(h.ID), slices.Clone(h.HeadID)
	x.Unsettled = append(x.Unsettled, k)
	p.awaitEvent(&p.EnsureExtra(p.Channels.At(r.Channel)).Wait, &k, ref)
	p.forgetHints()
	p.TouchPair(ref, r)
}
