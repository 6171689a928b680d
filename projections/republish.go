package projections

import (
	"bytes"

	"github.com/tidemark/tidemark/projections/internal/cold"
)

// Republish marks everything that the records from position since on have changed, so that the next
// Drain publishes it again. It is for a store that is ahead of the group's offsets. Another owner,
// which had folded less, may have published since then: its values are dominated, but they are the
// last ones in the log. Republish does not find keys that a cut has forgotten (Cut.Forgets).
//
// Only the goroutine that folds calls Republish, which takes Lock itself.
func (p *Partition) Republish(since Position) {
	t := &turn{p: p, cause: "again"}
	t.begin()
	defer t.end()
	p.loadSince(since, t)
	p.rules.Republish(since, func() { t.spend(1) })
}

// loadSince loads the cold channels that a record from position since on has named.
func (p *Partition) loadSince(since Position, t *turn) {
	set := &p.rules.Cold
	set.Channels.Each(func(_ uint32, c *cold.Channel) {
		for in := range since {
			if c.ID != 0 && c.Now == 0 && c.Upto[in] > since[in] {
				p.rules.EnsureChannel(bytes.Clone(set.Blobs.Get(c.ID)))
			}
		}
		t.spend(1)
	})
}
