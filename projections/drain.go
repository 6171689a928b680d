package projections

import (
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/warming"
)

// listOpen lists the rows of all users and threads that have an open time target, in the channels
// that were marked OutOpenChanged since the last drain.
func (p *Partition) listOpen(t *turn) {
	for _, ci := range p.rules.OutChannels {
		c := p.rules.Channels.At(ci)
		x := p.rules.ExtraOf(c)
		if c.Pending&state.OutOpenChanged == 0 || x == nil {
			continue
		}
		for _, w := range x.Wait.Times {
			p.rules.ListOpen(ci, w.Ref)
			t.spend(1)
		}
	}
}

// Drain appends a record for everything that changed since the last Drain. With fanout false, Drain
// leaves two things for a later call: the channel records, and the changes by messages for the
// members of small channels. Until that call the position must be neither committed nor cut. If d
// is nil, Drain publishes nothing: it settles the changes as if it had emitted them, without
// looking up or encoding anything.
//
// Only the goroutine that folds calls Drain, without holding Lock. Drain takes Lock itself and
// releases it in between. It changes nothing that an answer depends on.
func (p *Partition) Drain(d *Deltas, fanout bool) {
	t := &turn{p: p, cause: "drain"}
	t.begin()
	defer t.end()
	if fanout {
		p.listOpen(t)
	}
	for i, o := range p.rules.OutRows {
		if d != nil {
			warming.Rows(&p.rules.State, warming.Due(p.rules.OutRows, i))
		}
		r := p.rules.Rows.At(o.Ref)
		changed := r.Flags&state.RowChanged != 0
		r.Flags &^= state.RowChanged | state.RowCheck
		c := p.rules.Channels.At(r.Channel)
		if fanout && c.Pending&state.OutMembersChanged != 0 && r.Flags&state.RowMember != 0 {
			continue // with the other members, below
		}
		p.drainRow(d, o.Ref, c, r, changed)
		t.spend(1)
	}
	if fanout {
		for i, ci := range p.rules.OutChannels {
			if d != nil {
				warming.Channels(&p.rules.State, warming.Due(p.rules.OutChannels, i))
			}
			c := p.rules.Channels.At(ci)
			pending := c.Pending
			c.Pending = 0
			if pending&state.OutMembersChanged != 0 {
				p.drainMembers(d, c, t)
			}
			if pending&state.OutRecordChanged != 0 && d != nil {
				p.drainChannel(d, c, pending&state.OutUpdated != 0)
			}
			t.spend(1)
		}
		p.rules.OutChannels, p.rules.OutMembers = p.rules.OutChannels[:0], 0
		p.drainThreads(d, t)
		p.drainReceipts(d, t)
	}
	p.drainFarewells(d, t)
	p.rules.Unlist()
	p.rules.Origins = p.rules.Origins[:0]
}

// drainMembers emits the deltas of all members of a small channel.
func (p *Partition) drainMembers(d *Deltas, c *state.Channel, t *turn) {
	p.outMembers = p.outMembers[:0]
	p.rules.EachMember(c, func(ref uint32, _ *state.Row) { p.outMembers = append(p.outMembers, ref) })
	p.outFanOut.Begin(c)
	for i, ref := range p.outMembers {
		if d != nil {
			warming.Members(&p.rules.State, warming.Due(p.outMembers, i))
		}
		p.drainRow(d, ref, c, p.rules.Rows.At(ref), true)
		t.spend(1)
	}
	p.outFanOut.End()
}

// DrainRecords appends the records of changed channels, which a Drain without fan-out leaves. It
// leaves the deltas of their members for later, except for members who filed the channel. Until
// those are drained, the position must be neither committed nor cut. DrainRecords takes Lock as
// Drain does.
func (p *Partition) DrainRecords(d *Deltas) {
	t := &turn{p: p, cause: "drain"}
	t.begin()
	defer t.end()
	kept := p.rules.OutChannels[:0]
	for i, ci := range p.rules.OutChannels {
		warming.Channels(&p.rules.State, warming.Due(p.rules.OutChannels, i))
		c := p.rules.Channels.At(ci)
		if c.Pending&state.OutRecordChanged != 0 {
			p.drainFiled(d, c, t)
			p.drainChannel(d, c, c.Pending&state.OutUpdated != 0)
		}
		t.spend(1)
		if c.Pending &^= state.OutRecordChanged | state.OutUpdated; c.Pending&(state.OutMembersChanged|state.OutOpenChanged) == 0 {
			c.Pending = 0
			continue
		}
		kept = append(kept, ci)
	}
	p.rules.OutChannels = kept
}

// drainFiled emits the deltas of a small channel's members who filed it and for whom there is no
// news, so that each delta states the new head. The channel record is about to publish that the
// head has moved; until the fan-out, a reader of it would take that for news.
func (p *Partition) drainFiled(d *Deltas, c *state.Channel, t *turn) {
	if p.rules.Customized == 0 || c.Pending&state.OutMembersChanged == 0 {
		return
	}
	p.rules.EachMember(c, func(ref uint32, r *state.Row) {
		if p.rules.FiledToHead(c, r) {
			p.drainRow(d, ref, c, r, true)
		}
		t.spend(1)
	})
}
