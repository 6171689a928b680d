package pending

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Full reports whether n more events exceed the limit of held events of a user in this scope
// (DESIGN §4.3). Each message that a messages_read waits for counts, and so does each head that is
// still open.
func Full(x *state.PairExtra, n int) bool {
	return x != nil && n > 0 && len(x.Unsettled)+len(x.Floors)+n > MaxUnsettled &&
		withoutThreads(x.Unsettled)+len(x.Floors)+n > MaxUnsettled // reads with_threads are held in the channel and count there
}

// Adds returns how many of these single reads would be held: those whose messages do not exist yet,
// and behind a held mark also the others. The number is limited because each event of the user goes
// through all held events.
func Adds(x *state.PairExtra, singles []held.Event) (n int) {
	marked := slices.ContainsFunc(x.Unsettled, func(h held.Event) bool { return h.Kind == held.KindMark })
	var there map[uint32]bool
	for i := range singles {
		h := &singles[i]
		switch {
		case !h.Closed:
			n++
			continue
		case !marked:
			continue
		case there == nil:
			there = map[uint32]bool{}
			for j := range x.Unsettled {
				if o := &x.Unsettled[j]; o.Kind == held.KindSingle && o.Closed {
					there[o.Seq] = true
				}
			}
		}
		if !there[h.Seq] {
			there[h.Seq] = true
			n++
		}
	}
	return n
}

// withoutThreads returns how many events of a list the user made in this scope itself.
func withoutThreads(list []held.Event) (n int) {
	for i := range list {
		if list[i].Kind != held.KindWithThreads {
			n++
		}
	}
	return n
}
