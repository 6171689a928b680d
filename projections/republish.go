package projections

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Republish marks everything that the records from position since on have changed, so that the next
// Drain publishes it again. It is for a store that is ahead of the group's offsets. Another owner,
// which had folded less, may have published since then: its values are dominated, but they are the
// last ones in the log. Republish does not find keys that a cut has forgotten (Cut.Forgets).
//
// Only the goroutine that folds calls Republish, which takes Lock itself. Republish lists the cold
// channels first.
func (p *Partition) Republish(since Position) {
	for more := true; more; {
		more, _ = p.List(1024) // an error is that of the partition
	}
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.rules.LoadSince(since, func() { t.spend(1) })
	p.markSince(since, t)
}

// markSince marks everything that the records from position since on have changed, so that the next
// drain publishes it again.
//
// The state has the position of the last record of each channel and pair, but not which records
// changed what. So markSince marks all members of a channel with a new message. It cannot mark
// anything that has left memory: the pairs of a deleted channel and of an erased user, and channels
// that only reads name.
func (p *Partition) markSince(since Position, t *turn) {
	p.rules.Channels.Each(func(ci uint32, c *state.Channel) {
		messages := c.LastM > since[events.Messages]
		if messages {
			p.rules.ChannelChanged(ci, c)
		}
		for ref, r := range p.rules.RowsOf(c) {
			pair := p.rules.PairOf(r)
			if messages || p.rules.LastR(pair) > since[events.Reads] || p.rules.RareOf(pair).LastD > since[events.Deliveries] {
				p.rules.PairChanged(ref)
				if r.Flags&state.RowThread != 0 {
					p.rules.FollowOf(r).LastSeen = state.SeenUnknown
				}
			}
			t.spend(1)
		}
	})
}
