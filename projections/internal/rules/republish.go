package rules

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// SayAgain marks what the records from position since on have changed, so that the next drain emits
// it once more. It calls looked after each row.
//
// The state tells how far a channel and a pair were folded, and not by what: of a channel with a
// new message all members are marked. What has left the state or memory cannot be marked: the pairs
// of a channel that was deleted and of a user that was erased, and channels that only reads name.
func (p *Fold) SayAgain(since identity.Position, looked func()) {
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
