package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A filed channel is listed apart until there is news (DESIGN §4.7). A delta states the position of
// the last message that is no news: the last one before the news, or else the head.
//
// In a large channel, messages of others make no delta. Until the filing is Decided, they move the
// head without being news: the delta then states that no head is beyond its position, and one more
// delta follows when the filing is Decided. From then on, every message that moves the head without
// being news makes a delta of its own.

// channelFiled folds the filing of a channel. Filing it again may leave the view unchanged.
func (p *Fold) channelFiled(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *held.Event) state.Outcome {
	before := p.Signature(c, r)
	settings := p.SettingsOf(r)
	old := settings.Filed
	if settings.Filed = (state.Filed{}); m.Archived {
		settings.Filed = state.File(p.sinceOf(m, h), m.Keep)
		p.CloseSince(c, &settings.Filed.Since)
	}
	p.SetSettings(ref, r, settings)
	p.awaitDecided(ref, c, r)
	p.forgetHints()
	if old.Is && c.Flags&state.ChannelLarge != 0 && !old.Decided(c) && !old.Same(&settings.Filed) && p.Signature(c, r) == before {
		// Messages may have decided the old filing for an owner that did not have this one yet.
		p.readChanged(ref, m.InstanceID)
		return state.OutcomeDuplicate
	}
	return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
}
