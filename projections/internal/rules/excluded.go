package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// MaxListed is the number of positions that a delta or a channel record lists at most (DESIGN §7).
const MaxListed = 1000

// ExcludedOf lists the positions above a seq that the user wrote, read singly or hid.
func (p *Fold) ExcludedOf(c *state.Channel, s *Scope, above uint32) []uint32 {
	return p.excluded(c, s, above, MaxListed)
}

// excluded is ExcludedOf with another limit of the list.
func (p *Fold) excluded(c *state.Channel, s *Scope, above uint32, most int) []uint32 {
	if s.HiddenTo > above && !s.ahead { // every position up to HiddenTo is excluded
		list := p.excluded(c, s, s.HiddenTo, most)
		to := p.PosAt(c, s.HiddenTo)
		first := max(p.PosAt(c, above), to-min(to, uint32(most-len(list)))) + 1
		all := make([]uint32, 0, int(to+1-first)+len(list))
		for pos := first; pos <= to; pos++ {
			all = append(all, pos)
		}
		return append(all, list...)
	}
	if len(s.Own) == 0 && s.Singles.Max() <= above && (s.hidden == nil || s.hidden.Max() <= above) {
		return nil
	}
	seqs := p.newestCounted(nil, c, s.Singles, above, most)
	if s.hidden != nil {
		seqs = p.newestCounted(seqs, c, s.hidden, above, most)
	}
	for _, q := range s.Own {
		if q > above {
			seqs = append(seqs, q)
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	return p.PositionsOf(c, seqs[max(0, len(seqs)-most):])
}

// newestCounted appends the newest members of a set above a seq that are counted messages: at least
// most of them, if there are as many.
func (p *Fold) newestCounted(seqs []uint32, c *state.Channel, set *seqset.Set, above uint32, most int) []uint32 {
	start := len(seqs)
	x := p.ExtraOf(c)
	silent := x != nil && x.Uncounted.Max() > above
	for n, more := most, true; more; n *= 2 { // from the newest on, until enough of them count
		seqs = set.Newest(seqs[:start], above, n)
		more = len(seqs)-start == n
		if silent {
			seqs = append(seqs[:start], slices.DeleteFunc(seqs[start:], x.Uncounted.Contains)...)
		}
		more = more && len(seqs)-start < most
	}
	return seqs
}

// MentionedOf lists the positions above a seq of messages that mention the user by id.
func (p *Fold) MentionedOf(c *state.Channel, r *state.Row, above uint32) []uint32 {
	e := p.ExtraOfPair(r)
	if e == nil || e.Mentions.Max() <= above {
		return nil
	}
	return p.PositionsOf(c, e.Mentions.Newest(nil, above, MaxListed))
}

// AskOf reports whether readers cannot derive the user's counts in a large channel and must ask the
// owner. That is so if a counted message above the seq is hidden from the user (no delta lists
// those), if the user hid messages that are not posted yet, or if a list is cut off.
func (p *Fold) AskOf(c *state.Channel, r *state.Row, s *Scope, above uint32) bool {
	if s.ahead {
		return true
	}
	x := p.ExtraOfPair(r)
	if x != nil && (x.Mentions.Above(above) > MaxListed || p.hiddenFromAbove(c, r, above)) {
		return true
	}
	listed := len(s.Own) + int(s.Singles.Above(above)) + int(max(s.HiddenTo, above)-above)
	if s.hidden != nil {
		listed += int(s.hidden.Above(above))
	}
	return listed > MaxListed && len(p.excluded(c, s, above, MaxListed+1)) > MaxListed
}

// mustAsk is AskOf for the current state of a row.
func (p *Fold) mustAsk(c *state.Channel, r *state.Row) bool {
	s := p.ScopeOf(c, r)
	return p.AskOf(c, r, &s, max(s.Pointer, r.Baseline))
}

// hiddenFromAbove reports whether a counted message above a seq is, or was before its deletion,
// hidden from the user of a row.
func (p *Fold) hiddenFromAbove(c *state.Channel, r *state.Row, above uint32) bool {
	h := p.HiddenOf(r)
	if h == nil || h.From.Max() <= above {
		return false
	}
	n := h.From.Above(above)
	if x := p.ExtraOf(c); x != nil {
		n -= h.From.Common(&x.Uncounted, above)
	}
	return n > 0
}
