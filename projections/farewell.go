package projections

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidemark/tidemark/events"
)

// Of a channel that is deleted nothing is kept, and reads of it are ignored. But an owner before this one may have
// folded such a read first, before the deletion, and told that its user follows a thread, or where he stands. So
// whoever folds the read says that there is nothing: once for each key that it names and Drain, under a stamp that
// none from before the deletion dominates. How far the user's deliveries came is not known any more once the store is
// opened again, so for those without a row the stamp says how far all of them did: it must not fall behind what was
// told before that.

// farewell is a user, and the thread if the read was in one, of whom Drain says that there is nothing. They have no row.
type farewell struct {
	ch           uint32
	user         uint32 // his id is from here in Partition.origins
	thread, end  uint32 // from there to here is the thread's
	lastR, lastD int64
}

// sayFarewell notes a read of a deleted channel; offset is its own.
func (p *Partition) sayFarewell(ci uint32, m *events.Read, offset int64) {
	if p.quiet {
		return
	}
	f := farewell{ch: ci, lastR: offset + 1, lastD: p.pos[events.Deliveries]}
	if u := p.userOf(m.UserID); u != 0 {
		if ref := p.rowOf(ci, u); ref != 0 { // from before the deletion
			pair := p.rows.at(ref)
			pair.lastR = offset + 1
			if len(m.ThreadID) > 0 {
				if ref = p.threadRowOf(p.threadOf(ci, m.ThreadID), u); ref != 0 {
					p.follows.at(p.rows.at(ref).scope).seen = seenUnknown
				}
			}
			if ref != 0 {
				p.emit(ref)
				return
			}
		}
	}
	f.user = uint32(len(p.origins))
	p.origins = append(p.origins, m.UserID...)
	f.thread = uint32(len(p.origins))
	p.origins = append(p.origins, m.ThreadID...)
	f.end = uint32(len(p.origins))
	p.farewells = append(p.farewells, f)
}

// of are the ids of the user and of the thread.
func (f *farewell) of(origins []byte) (user, thread []byte) {
	return origins[f.user:f.thread:f.thread], origins[f.thread:f.end:f.end]
}

// drainFarewells emits what was noted, of each key the newest.
func (p *Partition) drainFarewells(d *Deltas) {
	if len(p.farewells) == 0 {
		return
	}
	list := p.farewells
	p.farewells = list[:0]
	if d == nil {
		return
	}
	sameKey := func(a, b *farewell) int {
		au, at := a.of(p.origins)
		bu, bt := b.of(p.origins)
		return cmp.Or(cmp.Compare(a.ch, b.ch), bytes.Compare(au, bu), bytes.Compare(at, bt))
	}
	slices.SortFunc(list, func(a, b farewell) int { return cmp.Or(sameKey(&a, &b), cmp.Compare(a.lastR, b.lastR)) })
	for i := range list {
		f := &list[i]
		if i+1 < len(list) && sameKey(f, &list[i+1]) == 0 {
			continue
		}
		c := p.chans.at(f.ch)
		m := &p.out
		*m = events.UnreadDelta{ChannelID: p.blobs.get(c.id), ReadEpoch: 1,
			Stamp: events.Stamp{FoldVersion: FoldVersion, M: c.lastM, R: f.lastR, D: f.lastD}}
		m.UserID, m.ThreadID = f.of(p.origins)
		p.keepUnread(d, m, events.Murmur2(m.UserID)&0x7fffffff)
	}
}
