package rules

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// Await registers the triggers of everything that is open in the pair's held events and floors, and
// in its filing.
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

// forgetHints makes all triggers anew when most of those that were made have nothing to wake any
// more: what closed early leaves its others behind. The cost is shared by the events that made
// them.
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

// wakePosted settles what the channel's new head decides, and notes that open time targets reach
// it.
func (p *Fold) wakePosted(ci uint32, c *state.Channel, id []byte) {
	x := p.ExtraOf(c)
	if x == nil {
		return
	}
	w := &x.Wait
	if len(w.IDs) > 0 {
		if rows, ok := w.IDs[string(id)]; ok {
			delete(w.IDs, string(id))
			for _, ref := range rows {
				p.wake(ref)
				if p.awaitsID(ref, id) { // the message was too old for that event
					w.AwaitID(id, ref)
				}
			}
		}
	}
	for len(w.Seqs) > 0 && w.Seqs[0].Key <= int64(c.HeadSeq) {
		seq := w.Seqs[0].Key
		ref := w.Seqs.Pop()
		p.wake(ref)
		p.hiddenReached(ref, c, seq)
	}
	for len(w.Times) > 0 && w.Times[0].Key < c.Time {
		p.wake(w.Times.Pop())
	}
	p.openChanged(ci, c)
}

// awaitsID reports whether the pair still holds an event that waits for this id.
func (p *Fold) awaitsID(ref uint32, id []byte) bool {
	x := p.ExtraOfPair(p.Rows.At(ref))
	waits := func(h state.PendingEvent) bool {
		return (!h.Closed && h.By == state.ByID && bytes.Equal(h.ID, id)) ||
			(h.Kind == state.KindMark && !h.Head && h.HeadBy == state.ByID && bytes.Equal(h.HeadID, id))
	}
	return x != nil && (slices.ContainsFunc(x.Unsettled, waits) || slices.ContainsFunc(x.OpenReads, waits) || slices.ContainsFunc(x.WaitingDeliveries, waits))
}

// wakeLapsed settles what log time has left behind.
func (p *Fold) wakeLapsed() {
	for len(p.Lapses) > 0 && p.Lapses[0].Key < p.MessageTime {
		p.wake(p.Lapses.Pop())
	}
}

func (p *Fold) wake(ref uint32) {
	if !p.Rows.Has(ref) || p.Rows.At(ref).Channel == 0 {
		return
	}
	r := p.Rows.At(ref)
	p.wakeFiled(ref, p.Channels.At(r.Channel), r)
	p.SettleOpen(ref)
	if x := p.ExtraOfPair(r); p.Settle(ref) || (x != nil && x.WaitsForSeq()) {
		p.PairMayHaveChanged(ref)
	}
}
