package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/held"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// OfflineUnread returns offline_unread (DESIGN §4.2): the unread messages that were queued and are
// above the furthest seq that the user ever read.
func (p *Fold) OfflineUnread(c *state.Channel, r *state.Row, s *Scope) (n uint32) {
	x := p.ExtraOfPair(r)
	if x == nil || x.Queued.Empty() || r.Flags&state.RowThread != 0 || (r.Flags&state.RowMember == 0 && r.Ord() != state.NoOrdinal) {
		return 0
	}
	far := p.furthestEver(r)
	if to, _, open := p.OpenTo(c, x, held.ForFar, 0); open {
		far = max(far, to)
	}
	from := max(s.from(c, r), far)
	sets := p.ExtraOf(c)
	if len(s.Own) == 0 && s.Skip.Max() <= from { // by rank, since each post may count thousands
		n = x.Queued.Above(from)
		if sets != nil {
			n -= x.Queued.Common(&sets.Deleted, from) + x.Queued.Common(&sets.Uncounted, from)
		}
		return n
	}
	for q := x.Queued.Next(from + 1); q != 0; q = x.Queued.Next(q + 1) {
		_, own := slices.BinarySearch(s.Own, q)
		if !own && !s.Skip.Contains(q) && (sets == nil || (!sets.Deleted.Contains(q) && !sets.Uncounted.Contains(q))) {
			n++
		}
	}
	return n
}

// dropQueued drops queued messages up to the furthest seq that the user ever read.
func (p *Fold) dropQueued(ref uint32, r *state.Row) {
	if x := p.ExtraOfPair(r); x != nil && !x.Queued.Empty() {
		x.Queued.RemoveTo(p.furthestEver(r))
		p.TouchPairExtra(ref, r)
	}
}
