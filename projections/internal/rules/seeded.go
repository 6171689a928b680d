package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// seeded folds messages_seeded.
func (p *Fold) seeded(ci uint32, c *state.Channel, m *events.Message) state.Outcome {
	if c.HeadSeq > 0 {
		return state.OutcomeIgnored
	}
	p.NotePosted(c, 1, 0)
	x := p.EnsureExtra(c)
	x.Seeded, x.SeedLog = m.Count, p.MessageTime
	c.Flags |= state.ChannelSeeded
	p.SeededChannels++
	begin := func() {
		c.HeadSeq, c.HeadPos = m.Count, m.Count
		c.FirstTime, c.Time, c.LogTime = m.OccurredAt, m.OccurredAt, p.MessageTime
	}
	if c.Flags&state.ChannelNewFormat == 0 {
		begin()
		p.membersChanged(ci, c)
	} else { // a member may have hidden all seeded messages
		p.comparing(c, begin)
	}
	p.ChannelChanged(ci, c)
	p.wakePosted(ci, c, nil)
	return state.OutcomeApplied
}

// deletedSeeded deletes a seeded message.
func (p *Fold) deletedSeeded(ci uint32, c *state.Channel, seq uint32) state.Outcome {
	x := p.ChannelExtras.At(c.Extra)
	if x.Deleted.Contains(seq) {
		return state.OutcomeDuplicate
	}
	p.comparing(c, func() { x.Deleted.Add(seq) })
	p.ChannelChanged(ci, c)
	return state.OutcomeApplied
}
