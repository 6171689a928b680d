package projections

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A deleted channel keeps nothing, and reads of it are ignored. But a former owner may have folded
// such a read before the deletion, and published that its user follows a thread, or the user's
// pointer. So the partition that folds the read publishes that there is nothing: once for each key
// that it names and Drain, under a stamp that none from before the deletion dominates. How far the
// user's deliveries came is not known any more once the store is opened again, so the stamp says
// how far all of them did: it must not fall behind what was told before that. The same goes for a
// user whose row is still in memory, since another owner may have opened its store after the
// deletion (rules.retract).

// drainFarewells emits what was noted, of each key the newest.
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
