package rules

import (
	"bytes"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// wakePosted settles the rows that the channel's new head decides, and marks open time targets that
// reach it.
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

// waiter returns the row that a trigger names, or nil if the row has left memory.
func (p *Fold) waiter(ref uint32) *state.Row {
	if !p.Rows.Has(ref) || p.Rows.At(ref).Channel == 0 {
		return nil
	}
	return p.Rows.At(ref)
}

// awaitsID reports whether the pair still holds an event that waits for this id.
func (p *Fold) awaitsID(ref uint32, id []byte) bool {
	r := p.waiter(ref)
	if r == nil {
		return false
	}
	x := p.ExtraOfPair(r)
	waits := func(h held.Event) bool {
		return (!h.Closed && h.By == held.ByID && bytes.Equal(h.ID, id)) ||
			(h.Kind == held.KindMark && !h.Head && h.HeadBy == held.ByID && bytes.Equal(h.HeadID, id))
	}
	return x != nil && (slices.ContainsFunc(x.Unsettled, waits) || slices.ContainsFunc(x.OpenReads, waits) || slices.ContainsFunc(x.WaitingDeliveries, waits))
}

// ListOpen lists the row that a trigger of a channel names for the next drain, if it has an open time
// target.
func (p *Fold) ListOpen(ci, ref uint32) {
	r := p.waiter(ref)
	if r == nil || r.Channel != ci {
		return
	}
	if x := p.ExtraOfPair(r); x != nil && x.OpenInTime() {
		p.PairMayHaveChanged(ref)
	}
}

// wakeLapsed settles the rows whose triggers log time has passed.
func (p *Fold) wakeLapsed() {
	for len(p.Lapses) > 0 && p.Lapses[0].Key < p.MessageTime {
		p.wake(p.Lapses.Pop())
	}
}

func (p *Fold) wake(ref uint32) {
	r := p.waiter(ref)
	if r == nil {
		return
	}
	c := p.Channels.At(r.Channel)
	p.wakeFiled(ref, c, r)
	if p.Settings.TrimLog {
		p.wakeFollow(ref, c, r)
	}
	p.SettleOpen(ref)
	if x := p.ExtraOfPair(r); p.Settle(ref) || (x != nil && x.WaitsForSeq()) {
		p.PairMayHaveChanged(ref)
	}
}

// wakeFollow stores where an explicit follow starts once that is decided, if the log ends.
func (p *Fold) wakeFollow(ref uint32, c *state.Channel, r *state.Row) {
	if r.Flags&state.RowThread == 0 {
		return
	}
	f := p.FollowOf(r)
	if f.Flags&state.FollowExplicit == 0 {
		return
	}
	if p.CloseFollow(c, f); f.Closed != 0 {
		p.TouchRow(ref, r)
		p.PairMayHaveChanged(ref)
	} else if p.MessageTime > f.ExplicitHorizon {
		p.EnsureExtra(c).Wait.Seqs.Push(int64(c.HeadSeq)+1, ref)
	}
}

// wakeFiled marks a member of a large channel when their filing is decided. If the log ends, it
// stores up to which message nothing is news.
func (p *Fold) wakeFiled(ref uint32, c *state.Channel, r *state.Row) {
	settings := p.ExtraSettings(r)
	if settings == nil || !settings.Filed.Is || !settings.Filed.Found.TellsLater {
		return
	}
	switch f := &settings.Filed; {
	case f.Decided(c):
		f.Found.TellsLater = false
		if p.CloseSince(c, &f.Since) {
			p.TouchRow(ref, r)
		}
		news := uint32(0)
		if p.Settings.TrimLog {
			news = p.News(c, r, f)
		}
		earlier := news != 0 && news < c.HeadSeq // it was no news when it was posted
		if (earlier || c.Flags&state.ChannelLarge != 0) && r.Flags&state.RowMember != 0 {
			p.PairChanged(ref)
		}
	case f.HeadSeq == 0 && p.MessageTime > f.Horizon:
		p.EnsureExtra(c).Wait.Seqs.Push(int64(c.HeadSeq)+1, ref)
	}
}

// hiddenReached marks a member of a large channel when the head reaches the message up to which
// they hid everything. From then on new messages are visible again, so readers can derive the
// counts again. seq is the seq of the trigger.
func (p *Fold) hiddenReached(ref uint32, c *state.Channel, seq int64) {
	r := p.waiter(ref)
	if c.Flags&state.ChannelLarge == 0 || r == nil || r.Flags&state.RowMember == 0 || p.Channels.At(r.Channel) != c {
		return
	}
	h := p.HiddenOf(r)
	if h == nil || int64(h.To) != seq {
		return
	}
	is := p.Signature(c, r)
	h.To = ^uint32(0)
	was := p.Signature(c, r)
	if h.To = uint32(seq); is != was {
		p.PairChanged(ref)
	}
}
