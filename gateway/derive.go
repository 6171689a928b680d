package gateway

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

// listedMax is how many positions a list of exceptions holds at most (DESIGN §7): one that is full may have left out
// older ones.
const listedMax = 1000

// exceptions are what a user's counts in a large channel are derived from, beside the channel's record.
type exceptions struct {
	readPos             uint32
	excluded, mentioned []uint32 // ascending
}

func newExceptions(d *events.UnreadDelta) *exceptions {
	x := &exceptions{readPos: d.ReadPos, excluded: slices.Clone(d.Excluded), mentioned: slices.Clone(d.Mentioned)}
	slices.Sort(x.excluded)
	slices.Sort(x.mentioned)
	return x
}

// derive counts by the rule of DESIGN §7: of the positions above what was read or purged and up to the head, those that
// are neither holes nor excluded. ok is false where a list does not reach back that far; then only the owner knows.
func derive(r *events.ChannelRecord, x *exceptions) (unread, mentions uint32, ok bool) {
	above := max(x.readPos, r.PurgedPos)
	if above >= r.HeadPos {
		return 0, 0, true
	}
	if r.HolesFloor > above || r.AllsFloor > above || len(x.excluded) >= listedMax || len(x.mentioned) >= listedMax {
		return 0, 0, false
	}
	not := func(pos uint32) bool {
		_, hole := slices.BinarySearch(r.Holes, pos)
		if !hole {
			_, hole = slices.BinarySearch(x.excluded, pos)
		}
		return hole
	}
	unread = r.HeadPos - above
	count := func(list []uint32, counts func(uint32) bool) (n uint32) {
		from, _ := slices.BinarySearch(list, above+1)
		for _, pos := range list[from:] {
			if pos > r.HeadPos {
				break
			}
			if counts(pos) {
				n++
			}
		}
		return n
	}
	unread -= count(r.Holes, func(uint32) bool { return true })
	unread -= count(x.excluded, func(pos uint32) bool { _, twice := slices.BinarySearch(r.Holes, pos); return !twice })
	mentions = count(x.mentioned, func(pos uint32) bool { return !not(pos) })
	mentions += count(r.Alls, func(pos uint32) bool {
		_, twice := slices.BinarySearch(x.mentioned, pos)
		return !twice && !not(pos)
	})
	return unread, mentions, true
}

// deriveInto fills in what a delta of a large channel leaves out, from the channel's record. What neither says stays as
// it was known before; where the counts cannot be derived the owner is asked. Called with the lock; e.view is still the
// view before v.
func (g *Gateway) deriveInto(e *entry, v *view) {
	ch := e.ch
	v.unread, v.mentions, v.first, v.latest = e.view.unread, e.view.mentions, e.view.first, e.view.latest
	if ch == nil || ch.record == nil {
		g.ask(e)
		return
	}
	g.deriveCounts(e, v)
}

// deriveCounts sets the counts, the latest and the first unread of v from the channel's record. It reports whether they
// are known now.
func (g *Gateway) deriveCounts(e *entry, v *view) bool {
	r := e.ch.record
	v.latest = e.ch.latest
	if e.exceptions == nil {
		g.ask(e)
		return false
	}
	unread, mentions, ok := derive(r, e.exceptions)
	if !ok {
		g.ask(e)
		return false
	}
	switch {
	case unread == 0:
		v.first = ref{}
	case v.unread == 0 && unread == 1 && v.latest.seq > v.last.seq:
		v.first = v.latest.ref // the only one
	case v.first.seq <= v.last.seq:
		v.first = ref{} // read past, and which is the next one is not known here
	}
	v.unread, v.mentions = unread, mentions
	return true
}
