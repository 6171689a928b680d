package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A filed channel is listed apart until there is news (DESIGN §4.7). A delta says up to which
// position of the head there is none: the last one before the news, else that of the head.
//
// In a large channel messages of others make no delta. While the filing is not Decided, they move
// the head and are no news: then a delta says that no head is beyond its position, and one delta
// follows when it is Decided. From then on whatever moves the head and is no news makes a delta of
// its own.

// channelFiled folds the filing of a channel. To file it again may move nothing that is seen.
func (p *Fold) channelFiled(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	before := p.Signature(c, r)
	said := p.SaidOf(r)
	if said.Filed = (state.Filed{}); m.Archived {
		said.Filed = state.File(sinceOf(m, h), m.Keep)
	}
	p.SetSaid(ref, r, said)
	p.awaitDecided(ref, c, r)
	p.forgetHints()
	return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
}
