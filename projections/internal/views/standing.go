package views

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Standing is what a channel contributes to a user's totals (DESIGN §4.7). The zero Standing is
// that of a channel without settings and updates.
type Standing struct {
	Levels   events.Levels // as they were set: Until may have passed
	Flagged  bool
	Archived bool // by the user, or for everybody

	ChannelLabels, OwnLabels []string // ascending
}

// Labels returns the labels under which the channel counts, ascending: its own and those that the
// user gave it. Without labels it returns nil.
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

// Standing returns what the channel contributes to the user's totals.
func (v *View) Standing() Standing {
	return Standing{
		Levels:        events.Levels{Level: v.Level, Until: v.Until, After: v.LevelAfter},
		Flagged:       v.Flagged,
		Archived:      v.Archived,
		ChannelLabels: v.ChannelLabels, OwnLabels: v.Labels,
	}
}

// standingOf returns the Standing of a row's channel for its user. It returns false if there are no
// settings and no updates of the channel.
func (p *Queries) standingOf(c *state.Channel, r *state.Row) (s Standing, hasSettings bool) {
	own := p.rules.ExtraSettings(r)
	if c.Flags&state.ChannelUpdated == 0 && own == nil && r.Flags&state.RowMuted == 0 {
		return s, false
	}
	labels, archived := p.updatedTo(c)
	is := p.rules.SettingsOf(r)
	s = Standing{
		Levels:        events.Levels{Level: is.Level(), Until: is.Until, After: is.After()},
		Flagged:       p.rules.Flagged(c, r, own),
		Archived:      archived || p.rules.Filed(c, r, own).Holds(c.HeadPos),
		ChannelLabels: labels, OwnLabels: is.Labels,
	}
	return s, true
}

// updatedTo returns the result of the last channel_updated.
func (p *Queries) updatedTo(c *state.Channel) (labels []string, archived bool) {
	if c.Flags&state.ChannelUpdated == 0 {
		return nil, false
	}
	x := p.rules.ExtraOf(c)
	return x.Labels, x.Archived
}
