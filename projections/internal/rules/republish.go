package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Republish marks everything that the records from position since on have changed, so that the next
// drain publishes it again. It calls looked after each row.
//
// The state has the position of the last record of each channel and pair, but not which records
// changed what. So Republish marks all members of a channel with a new message. It cannot mark
// anything that has left memory: the pairs of a deleted channel and of an erased user, and channels
// that only reads name.
func (p *Fold) Republish(since identity.Position, looked func()) {
	p.Channels.Each(func(ci uint32, c *state.Channel) {
		messages := c.LastM > since[events.Messages]
		if messages {
			p.ChannelChanged(ci, c)
		}
		for ref := c.Rows; ref != 0; ref = p.Rows.At(ref).NextRow {
			r := p.Rows.At(ref)
			pair := p.PairOf(r)
			if messages || pair.LastR > since[events.Reads] || pair.LastD > since[events.Deliveries] {
				p.PairChanged(ref)
				if r.Flags&state.RowThread != 0 {
					p.Follows.At(r.Scope).LastSeen = state.SeenUnknown
				}
			}
			looked()
		}
	})
}
