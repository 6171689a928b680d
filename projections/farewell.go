package projections

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A deleted channel keeps nothing, and the fold ignores reads of it. But a former owner may have
// folded such a read before the deletion, and published a follow of a thread or the user's pointer.
// So the partition that folds the read publishes an empty delta (a farewell), once for each key and
// Drain, under a stamp that no stamp from before the deletion dominates. An opened store does not
// contain how far the user's deliveries came, so the stamp uses the position of all deliveries; it
// must not fall behind a stamp that was published earlier. The same applies to a user whose row is
// still in memory, because another owner may have opened its store after the deletion
// (rules.noteFarewell).

// drainFarewells emits the newest noted farewell of each key.
func (p *Partition) drainFarewells(d *Deltas, t *turn) {
	if len(p.rules.Retractions) == 0 {
		return
	}
	list := p.rules.Retractions
	p.rules.Retractions = list[:0]
	if d == nil {
		return
	}
	sameKey := func(a, b *state.Retraction) int {
		au, at := a.IDs(p.rules.Origins)
		bu, bt := b.IDs(p.rules.Origins)
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), bytes.Compare(au, bu), bytes.Compare(at, bt))
	}
	slices.SortFunc(list, func(a, b state.Retraction) int { return cmp.Or(sameKey(&a, &b), cmp.Compare(a.LastR, b.LastR)) })
	for i := range list {
		f := &list[i]
		if i+1 < len(list) && sameKey(f, &list[i+1]) == 0 {
			continue
		}
		c := p.rules.Channels.At(f.Channel)
		m := &p.out
		*m = events.UnreadDelta{ChannelID: p.rules.Blobs.Get(c.ID), ReadEpoch: 1,
			Stamp: events.Stamp{FoldVersion: FoldVersion, M: c.LastM, R: f.LastR, D: f.LastD}}
		m.UserID, m.ThreadID = f.IDs(p.rules.Origins)
		p.keepUnread(d, m, events.Murmur2(m.UserID)&0x7fffffff)
		t.spend(1)
	}
}
