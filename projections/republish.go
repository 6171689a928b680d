package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// SayAgain marks what the records from position since on have changed, so that the next Drain emits
// it once more. It is for a store that is ahead of the group's offsets. Another owner may have
// published since then what it had folded, which was less: its values are dominated and stand last.
//
// The state tells how far a channel and a pair were folded, and not by what: of a channel with a
// new message all members are marked. What has left the state cannot be marked: the pairs of a
// channel that was deleted, and of a user that was erased, at since or later.
//
// Like Drain it belongs to the goroutine that folds, and takes Lock itself.
func (p *Partition) SayAgain(since Position) {
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.rules.Channels.Each(func(ci uint32, c *state.Channel) {
		messages := c.LastM > since[events.Messages]
		if messages {
			p.rules.ChannelChanged(ci, c)
		}
		for ref := c.Rows; ref != 0; ref = p.rules.Rows.At(ref).NextRow {
			r := p.rules.Rows.At(ref)
			pair := p.rules.PairOf(r)
			if messages || pair.LastR > since[events.Reads] || pair.LastD > since[events.Deliveries] {
				p.rules.PairChanged(ref)
				if r.Flags&state.RowThread != 0 {
					p.rules.Follows.At(r.Scope).LastSeen = state.SeenUnknown
				}
			}
			t.spend(1)
		}
	})
}
