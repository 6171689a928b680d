package rules

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/pending"
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
	r.LastR = offset + 1
	p.TouchRow(ref, r)
	if len(m.ThreadID) > 0 {
		ref, r = p.EnsureThreadRow(p.EnsureThread(ci, c, m.ThreadID), ref)
		p.TouchRow(ref, r)
	}
	h := state.PendingEvent{Offset: offset, At: m.OccurredAt, Now: p.ReadTime, Horizon: p.HorizonOf(max(m.OccurredAt, min(timestamp, maxTime))+pending.LapseAfter, p.ReadTime)}
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
		use |= state.ForOthers
	}
	if !stale {
		use |= state.ForFar
		if m.WithThreads {
			use |= state.ForThreads
		}
	}
	return use
}

// maxTime is the end of year 9999 in Unix milliseconds, the latest time of an event. A record's
// timestamp may be anything.
const maxTime = 253402300799_999

// full reports whether n more events exceed the limit of held events of a user in this scope
// (DESIGN §4.3). Each message that a messages_read waits for counts, and so does each head that is
// still open.
func full(x *state.PairExtra, n int) bool {
	return x != nil && n > 0 && len(x.Unsettled)+len(x.Floors)+n > pending.MaxUnsettled &&
		withoutThreads(x.Unsettled)+len(x.Floors)+n > pending.MaxUnsettled // reads with_threads are held in the channel and count there
}

func (p *Fold) readUpTo(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	h.Kind = state.KindRead
	switch m.Target {
	case events.TargetMessageID:
		h.By, h.ID = state.ByID, m.MessageID
	case events.TargetSeq:
		h.By, h.Seq = state.BySeq, m.Seq
	case events.TargetTime:
		h.By, h.Time = state.ByTime, m.TargetTime
	}
	if !p.Resolve(c, r, h) {
		return h.Void()
	}
	stale := r.EpochEnded(m.ReadEpoch)
	x := p.ExtraOfPair(r)
	if !stale && full(x, 1) && !p.closedFirst(x, h) {
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

// moveTo applies a read to the pointer of its own scope.
func (p *Fold) moveTo(ref uint32, c *state.Channel, r *state.Row, h *state.PendingEvent, instance []byte) state.Outcome {
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
func (p *Fold) closedFirst(x *state.PairExtra, h *state.PendingEvent) bool {
	return h.Closed && !slices.ContainsFunc(x.Unsettled, func(o state.PendingEvent) bool { return o.Kind == state.KindMark })
}

// advance applies a closed read to a pair without held events. It reports whether the view may have
// changed: a pointer that stays below the newest own post moves unseen.
func (p *Fold) advance(ref uint32, r *state.Row, x *state.PairExtra, h *state.PendingEvent) bool {
	shown := r.Pointer
	if own, _ := p.NewestRead(r); own > r.OwnFloor {
		shown = max(shown, own)
	}
	if h.Seq <= r.Pointer {
		return false
	}
	r.Pointer, r.At, r.Event = h.Seq, h.At, pending.EvRead(h.Offset)
	if x != nil {
		x.Singles.RemoveTo(r.Pointer)
		p.TouchPairExtra(ref, r)
	}
	return h.Seq > shown
}

func (p *Fold) messagesRead(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	h.Kind, h.By = state.KindSingle, state.ByID
	stale := r.EpochEnded(m.ReadEpoch)
	if stale && m.Private {
		return state.OutcomeIgnored
	}
	x := p.EnsurePairExtra(r)
	before := p.Signature(c, r)
	var keep []state.PendingEvent
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
	if (!stale && full(x, adds(x, keep))) || (!m.Private && len(x.OpenReads)+waits > maxOpen) {
		return state.OutcomeTooManyHeld
	}
	for i := range keep {
		p.track(ref, c, r, &keep[i], useOf(m, stale)&state.ForOthers) // single reads do not raise the furthest read
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

// adds returns how many of these single reads would be held: those whose messages do not exist yet,
// and behind a held mark also the others. The number is limited because each event of the user goes
// through all held events.
func adds(x *state.PairExtra, singles []state.PendingEvent) (n int) {
	marked := slices.ContainsFunc(x.Unsettled, func(h state.PendingEvent) bool { return h.Kind == state.KindMark })
	var there map[uint32]bool
	for i := range singles {
		h := &singles[i]
		switch {
		case !h.Closed:
			n++
			continue
		case !marked:
			continue
		case there == nil:
			there = map[uint32]bool{}
			for j := range x.Unsettled {
				if o := &x.Unsettled[j]; o.Kind == state.KindSingle && o.Closed {
					there[o.Seq] = true
				}
			}
		}
		if !there[h.Seq] {
			there[h.Seq] = true
			n++
		}
	}
	return n
}

func (p *Fold) markedUnread(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	h.Kind, h.By, h.ID, h.Seq, h.HeadBy = state.KindMark, state.ByID, m.MessageID, m.Seq, state.ByTime
	if len(m.MessageID) == 0 {
		h.By = state.BySeq
	}
	switch {
	case m.HeadSeq != 0:
		h.HeadBy, h.Time = state.BySeq, int64(m.HeadSeq)
	case len(m.HeadMessageID) > 0:
		h.HeadBy, h.HeadID = state.ByID, m.HeadMessageID
	}
	x := p.EnsurePairExtra(r)
	if full(x, 1) {
		return state.OutcomeTooManyHeld
	}
	before := p.Signature(c, r)
	p.keepThreadTargets(ref, r)
	r.Marks++
	if p.Resolve(c, r, h) {
		p.keep(ref, r, x, h)
		p.Settle(ref)
		p.TouchPairExtra(ref, r)
	}
	out := p.outcome(ref, c, r, before, h.Idle(), m.InstanceID)
	if h.ExpiredID() {
		return state.OutcomeExpiredID // only the epoch moved
	}
	return out
}

// hold holds an event that is open, or that stands behind an open one.
func (p *Fold) hold(ref uint32, c *state.Channel, r *state.Row, h *state.PendingEvent, instance []byte) state.Outcome {
	before := p.Signature(c, r)
	p.keep(ref, r, p.EnsurePairExtra(r), h)
	p.Settle(ref)
	return p.outcome(ref, c, r, before, h.Idle(), instance)
}

// keep appends a copy of the event to the pair's held events and registers its triggers.
func (p *Fold) keep(ref uint32, r *state.Row, x *state.PairExtra, h *state.PendingEvent) {
	if len(x.Unsettled)+len(x.Floors) == 0 {
		if x.LastSeen = state.SeenUnknown; r.OutRow == 0 { // nothing is waiting to be published
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
