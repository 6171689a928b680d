package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

func (p *Fold) joined(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	any := false
	for _, id := range m.IDs {
		ref, r := p.EnsureRowToJoin(ci, p.EnsureUser(id))
		if r.Flags&state.RowMember != 0 {
			continue
		}
		any = true
		if r.Ord() == state.NoOrdinal {
			p.DropGuest(ref, r)
			p.GiveOrdinal(c, ref)
		}
		r.Flags |= state.RowMember
		r.Baseline = c.HeadSeq
		if m.CountHistory {
			r.Baseline = 0
		}
		p.JoinedAt(ref, r, c.HeadSeq)
		p.ListQueued(c, ref, r)
		c.Members++
		p.MemberChanged(c, ref, true)
		p.TouchRow(ref, r)
		p.PairChanged(ref)
		p.followsChanged(r)
		p.awaitDecided(ref, c, r)
	}
	return p.membership(ci, c, any)
}

func (p *Fold) left(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	any := false
	for _, id := range m.IDs {
		u := p.UserOf(id)
		if u == 0 {
			continue
		}
		ref := p.RowOf(ci, u)
		if ref == 0 || p.Rows.At(ref).Flags&state.RowMember == 0 {
			continue
		}
		any = true
		r := p.Rows.At(ref)
		p.LeftAt(ref, r, c.HeadSeq)
		r.Flags &^= state.RowMember
		r.Baseline = 0
		c.Members--
		p.MemberChanged(c, ref, false)
		p.TouchRow(ref, r)
		p.PairChanged(ref)
		p.followsChanged(r)
	}
	return p.membership(ci, c, any)
}

// membership turns the channel large or small after its member count changed (DESIGN §2).
func (p *Fold) membership(ci uint32, c *state.Channel, any bool) state.Outcome {
	if !any {
		return state.OutcomeDuplicate
	}
	limit := uint64(p.Settings.FanoutLimit)
	n := uint64(c.Members)
	was := c.Flags & state.ChannelLarge
	switch {
	case n > limit || limit == 0:
		c.Flags |= state.ChannelLarge
	case n*100 <= limit*80:
		c.Flags &^= state.ChannelLarge
	}
	if c.Flags&state.ChannelLarge != was {
		p.EachMember(c, func(ref uint32, r *state.Row) {
			p.PairChanged(ref)
			p.ListQueued(c, ref, r)
			p.awaitDecided(ref, c, r)
		})
		p.openChanged(ci, c)
	}
	p.ChannelChanged(ci, c)
	return state.OutcomeApplied
}
