package rules

import "github.com/tidemark/tidemark/projections/internal/state"

// Await registers the triggers of everything that is open in the pair's held events, floors and
// filing.
func (p *Fold) Await(ref uint32) {
	r := p.Rows.At(ref)
	x := p.ExtraOfPair(r)
	if x == nil {
		return
	}
	c := p.Channels.At(r.Channel)
	p.awaitHidden(ref, c, x.Hidden)
	p.awaitDecided(ref, c, r)
	if !x.Waits() {
		return
	}
	w := &p.EnsureExtra(c).Wait
	for _, list := range [...][]state.PendingEvent{x.Unsettled, x.OpenReads, x.WaitingDeliveries} {
		for i := range list {
			p.awaitEvent(w, &list[i], ref)
		}
	}
	for _, f := range x.Floors {
		p.awaitFloor(w, f, ref)
	}
}

func (p *Fold) awaitEvent(w *state.Waiters, h *state.PendingEvent, ref uint32) {
	p.Hints++
	if h.ExpiredID() {
		p.Lapses.Push(h.Now, ref)
	}
	if !h.Closed {
		switch h.By {
		case state.ByID:
			w.AwaitID(h.ID, ref)
			if h.Kind == state.KindMark && h.Seq != 0 {
				w.Seqs.Push(int64(h.Seq), ref)
			}
		case state.BySeq:
			w.Seqs.Push(int64(h.Seq), ref)
		case state.ByTime:
			w.Times.Push(h.Time, ref)
		}
		p.Lapses.Push(h.Horizon, ref)
	}
	if h.Kind == state.KindMark && !h.Head {
		if h.HeadBy == state.ByID {
			w.AwaitID(h.HeadID, ref)
			p.Lapses.Push(h.Horizon, ref)
		} else {
			p.awaitFloor(w, state.FloorSpec{By: h.HeadBy, Val: h.HeadVal(), Horizon: h.Horizon}, ref)
		}
	}
}

func (p *Fold) awaitFloor(w *state.Waiters, f state.FloorSpec, ref uint32) {
	p.Hints++
	if f.By == state.BySeq {
		w.Seqs.Push(f.Val, ref)
	} else {
		w.Times.Push(f.Val, ref)
	}
	p.Lapses.Push(f.Horizon, ref)
}

// awaitHidden registers a trigger for the head to reach the message up to which a user hid
// everything.
func (p *Fold) awaitHidden(ref uint32, c *state.Channel, h *state.Hidden) {
	if h.Ahead(c) {
		p.Hints++
		p.EnsureExtra(c).Wait.Seqs.Push(int64(h.To), ref)
	}
}

// awaitDecided registers the trigger that decides the filing of a large channel.
func (p *Fold) awaitDecided(ref uint32, c *state.Channel, r *state.Row) {
	settings := p.ExtraSettings(r)
	if settings == nil || !settings.Filed.Is || c.Flags&state.ChannelLarge == 0 || settings.Filed.Decided(c) {
		return
	}
	settings.Filed.Found.TellsLater = true
	w := &p.EnsureExtra(c).Wait
	p.Hints++
	switch f := &settings.Filed; {
	case f.HeadSeq != 0:
		w.Seqs.Push(int64(f.HeadSeq), ref)
	case p.MessageTime > f.Horizon: // the next message decides it
		w.Seqs.Push(int64(c.HeadSeq)+1, ref)
	default:
		w.Times.Push(f.At, ref)
		p.Lapses.Push(f.Horizon, ref)
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
		if r.Extra != 0 {
			p.Await(ref)
		}
	})
	p.HintLimit = 2*p.Hints + p.Rows.Len()/8 + 4096
}
