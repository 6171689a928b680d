package rules

import (
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Await registers the triggers of everything that is open in the pair's held events, floors and
// filing.
func (p *Fold) Await(ref uint32) {
	r := p.Rows.At(ref)
	c := p.Channels.At(r.Channel)
	p.AwaitFollow(ref)
	x := p.ExtraOfPair(r)
	if x == nil {
		return
	}
	p.awaitHidden(ref, c, x.Hidden)
	p.awaitDecided(ref, c, r)
	if !x.Waits() {
		return
	}
	w := &p.EnsureExtra(c).Wait
	for _, list := range [...][]held.Event{x.Unsettled, x.OpenReads, x.WaitingDeliveries} {
		for i := range list {
			p.awaitEvent(w, &list[i], ref)
		}
	}
	for _, f := range x.Floors {
		p.awaitFloor(w, f, ref)
	}
}

func (p *Fold) awaitEvent(w *state.Waiters, h *held.Event, ref uint32) {
	p.Hints++
	if h.ExpiredID() {
		p.Lapses.Push(h.Now, ref)
	}
	if !h.Closed {
		switch h.By {
		case held.ByID:
			w.AwaitID(h.ID, ref)
			if h.Kind == held.KindMark && h.Seq != 0 {
				w.Seqs.Push(int64(h.Seq), ref)
			}
		case held.BySeq:
			w.Seqs.Push(int64(h.Seq), ref)
		case held.ByTime:
			w.Times.Push(h.Time, ref)
		}
		p.Lapses.Push(h.Horizon, ref)
	}
	if h.Kind == held.KindMark && !h.Head {
		if h.HeadBy == held.ByID {
			w.AwaitID(h.HeadID, ref)
			p.Lapses.Push(h.Horizon, ref)
		} else {
			p.awaitFloor(w, h.Floor(p.Settings.TrimLog), ref)
			p.awaitRemembered(h, ref)
		}
	}
}

func (p *Fold) awaitFloor(w *state.Waiters, f held.Floor, ref uint32) {
	p.Hints++
	if f.By == held.BySeq {
		w.Seqs.Push(f.Val, ref)
	} else {
		w.Times.Push(f.Val, ref)
	}
	p.Lapses.Push(f.Horizon, ref)
}

// awaitRemembered registers the trigger that lets a mark keep its open head (State.KeepsReach): the
// last log time of chat.messages that the mark does not remember.
func (p *Fold) awaitRemembered(h *held.Event, ref uint32) {
	if h.HeadBy == held.ByTime && !p.KeepsReach(h.At, h.Now) {
		p.Lapses.Push(p.LastForgotten(h.Now), ref)
	}
}

// AwaitFollow registers the triggers that decide where an explicit follow starts, if the log ends.
func (p *Fold) AwaitFollow(ref uint32) {
	r := p.Rows.At(ref)
	if !p.Settings.TrimLog || r.Flags&state.RowThread == 0 {
		return
	}
	f := p.FollowOf(r)
	if f.Flags&state.FollowExplicit == 0 || f.Closed != 0 {
		return
	}
	p.awaitSince(ref, p.Channels.At(r.Channel), f.ExplicitTime, f.ExplicitHorizon)
}

// awaitSince registers the triggers for the first message that is later than a time.
func (p *Fold) awaitSince(ref uint32, c *state.Channel, at, horizon int64) {
	p.Hints++
	w := &p.EnsureExtra(c).Wait
	if p.MessageTime > horizon { // the next message decides it
		w.Seqs.Push(int64(c.HeadSeq)+1, ref)
		return
	}
	w.Times.Push(at, ref)
	p.Lapses.Push(horizon, ref)
}

// awaitHidden registers a trigger for the head to reach the message up to which a user hid
// everything.
func (p *Fold) awaitHidden(ref uint32, c *state.Channel, h *state.Hidden) {
	if h.Ahead(c) {
		p.Hints++
		p.EnsureExtra(c).Wait.Seqs.Push(int64(h.To), ref)
	}
}

// awaitDecided registers the trigger that decides the filing of a large channel, or of any channel
// if the log ends.
func (p *Fold) awaitDecided(ref uint32, c *state.Channel, r *state.Row) {
	settings := p.ExtraSettings(r)
	if settings == nil || !settings.Filed.Is || (c.Flags&state.ChannelLarge == 0 && !settings.Filed.Ends) || settings.Filed.Decided(c) {
		return
	}
	settings.Filed.Found.TellsLater = true
	if f := &settings.Filed; f.HeadSeq == 0 {
		p.awaitSince(ref, c, f.At, f.Horizon)
	} else {
		p.Hints++
		p.EnsureExtra(c).Wait.Seqs.Push(int64(f.HeadSeq), ref)
	}
}

// forgetHints registers all triggers again once most of them are out of date: an event that closes
// early leaves its other triggers behind. The cost is amortized over the events that made them.
func (p *Fold) forgetHints() {
	if p.Hints <= p.HintLimit {
		return
	}
	p.Hints, p.Lapses = 0, nil
	p.ChannelExtras.Each(func(x *state.ChannelExtra) { x.Wait = state.Waiters{} })
	p.Rows.Each(func(ref uint32, r *state.Row) {
		if r.Channel != 0 && (p.ExtraOfPair(r) != nil || (r.Flags&state.RowThread != 0 && p.Settings.TrimLog)) {
			p.Await(ref)
		}
	})
	p.HintLimit = 2*p.Hints + p.Rows.Len()/8 + 4096
}
