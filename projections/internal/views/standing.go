package views

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Standing is how a channel enters a user's totals (DESIGN §4.7). The zero Standing is that of a
// channel of which nothing was said.
type Standing struct {
	Levels   events.Levels // as they were said: Until may have passed
	Flagged  bool
	Archived bool // by the user, or for everybody

	ChannelLabels, OwnLabels []string // ascending
}

// Labels are those under which the channel counts: its own and those that the user gives it,
// ascending. Nil has none.
func (s *Standing) Labels() []string {
	switch {
	case s == nil:
		return nil
	case len(s.OwnLabels) == 0:
		return s.ChannelLabels
	case len(s.ChannelLabels) == 0:
		return s.OwnLabels
	}
	all := slices.Concat(s.ChannelLabels, s.OwnLabels)
	slices.Sort(all)
	return slices.Compact(all)
}

// Standing is how the channel enters the user's totals.
func (v *View) Standing() Standing {
	return Standing{
		Levels:        events.Levels{Level: v.Level, Until: v.Until, After: v.LevelAfter},
		Flagged:       v.Flagged,
		Archived:      v.Archived,
		ChannelLabels: v.ChannelLabels, OwnLabels: v.Labels,
	}
}

// standingOf is the Standing of the channel of a row for its user; of one of which nothing was said
// it reports false.
func (p *Queries) standingOf(c *state.Channel, r *state.Row) (s Standing, said bool) {
	own := p.rules.ExtraSaid(r)
	if c.Flags&state.ChannelUpdated == 0 && own == nil && r.Flags&state.RowMuted == 0 {
		return s, false
	}
	labels, archived := p.updatedTo(c)
	is := p.rules.SaidOf(r)
	s = Standing{
		Levels:        events.Levels{Level: is.Level(), Until: is.Until, After: is.After()},
		Flagged:       p.rules.Flagged(c, r, own),
		Archived:      archived || p.rules.Filed(c, r, own).Holds(c.HeadPos),
		ChannelLabels: labels, OwnLabels: is.Labels,
	}
	return s, true
}

// updatedTo is what channel_updated said last of a channel.
func (p *Queries) updatedTo(c *state.Channel) (labels []string, archived bool) {
	if c.Flags&state.ChannelUpdated == 0 {
		return nil, false
	}
	x := p.rules.ExtraOf(c)
	return x.Labels, x.Archived
}
