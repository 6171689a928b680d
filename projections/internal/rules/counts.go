package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Counts are the numbers of DESIGN §4.2.
type Counts struct {
	Unread, Mentions, First uint32
	Direct                  uint32 // how many of Mentions name the user
	FirstMention            uint32 // seq of the oldest of Mentions
}

// counted is the set of counted messages of a scope: in a channel all messages except those in the
// sets of x, in a thread the messages of its own set.
type counted struct {
	c *state.Channel
	x *state.ChannelExtra // nil: no exceptions
	t *state.Thread       // nil: the scope is the channel
}

// CountsOf counts the unread messages of a pair with this scope.
func (p *Fold) CountsOf(c *state.Channel, r *state.Row, s *Scope) Counts {
	return p.count(&counted{c: c, x: p.ExtraOf(c)}, r, r, s, s.from(c, r))
}

// ThreadCounts counts the unread messages of a user in a thread.
func (p *Fold) ThreadCounts(c *state.Channel, r *state.Row, s *ThreadScope) Counts {
	if !s.Counts || s.Thread.Live.Max() <= s.above {
		return Counts{}
	}
	return p.count(&counted{c: c, t: s.Thread}, r, s.Pair, &s.Scope, s.above)
}

// count counts the messages above from. r is the user's row in the scope, pair their row in the
// channel.
func (p *Fold) count(of *counted, r, pair *state.Row, s *Scope, from uint32) (n Counts) {
	isOwn := func(q uint32) bool { _, ok := slices.BinarySearch(s.Own, q); return ok }
	mine := func(q uint32) bool { return isOwn(q) || s.Skip.Contains(q) }
	singly := s.Skip.Max() > from
	e := p.ExtraOfPair(r)
	all := of.alls()
	alls := all != nil && all.Max() > from && !p.IgnoresAll(pair)
	n.Unread = of.above(p, from)
	if alls {
		n.Mentions = all.Above(from)
	}
	quiet := len(s.Own) == 0 && !singly // no own posts or single reads above from
	if e != nil && quiet && !alls {
		n.Mentions = e.Mentions.Above(from)
		n.Direct = n.Mentions
	} else if e != nil {
		for q := e.Mentions.Next(from + 1); q != 0; q = e.Mentions.Next(q + 1) {
			if mine(q) {
				continue
			}
			if n.Direct++; !alls || !all.Contains(q) {
				n.Mentions++
			}
		}
	}
	if !alls && of.whole(from) {
		i, _ := slices.BinarySearch(s.Own, from+1)
		n.Unread -= uint32(len(s.Own) - i)
	} else {
		for _, q := range s.Own {
			if q > from && of.has(q) {
				n.Unread--
				if alls && all.Contains(q) {
					n.Mentions--
				}
			}
		}
	}
	if singly { // by rank, since a user may read all of a channel in this way
		n.Unread -= of.common(s.Skip, from)
		if alls {
			n.Mentions -= s.Skip.Common(all, from)
		}
		for _, q := range s.Own { // the loop above already subtracted these
			if q > from && s.Skip.Contains(q) && of.has(q) {
				n.Unread++
				if alls && all.Contains(q) {
					n.Mentions++
				}
			}
		}
	}
	if n.Unread > 0 {
		n.First = of.first(from, s.Skip, isOwn)
	}
	if n.Mentions > 0 {
		if alls {
			n.firstMention(all, from, mine)
		}
		if e != nil {
			n.firstMention(&e.Mentions, from, mine)
		}
	}
	return n
}

// above returns the number of counted messages above a seq.
func (of *counted) above(p *Fold, from uint32) uint32 {
	switch {
	case of.t != nil:
		return of.t.Live.Above(from)
	case of.x != nil:
		return of.c.HeadPos - p.PosAt(of.c, from) - of.x.Deleted.Above(from)
	}
	return of.c.HeadPos - p.PosAt(of.c, from)
}

// has reports whether a message of the channel is in the set.
func (of *counted) has(q uint32) bool {
	if of.t != nil {
		return of.t.Live.Contains(q)
	}
	return of.x == nil || (!of.x.Deleted.Contains(q) && !of.x.Uncounted.Contains(q))
}

// whole reports whether all posts above a seq that a user can have in the scope are counted.
func (of *counted) whole(from uint32) bool {
	return of.t == nil && (of.x == nil || of.x.Deleted.Max() <= from)
}

// common returns how many counted messages above a seq are in set.
func (of *counted) common(set *seqset.Set, from uint32) uint32 {
	if of.t != nil {
		return set.Common(&of.t.Live, from)
	}
	n := set.Above(from)
	if of.x != nil {
		n -= set.Common(&of.x.Deleted, from) + set.Common(&of.x.Uncounted, from)
	}
	return n
}

// alls returns the set of messages that mention everybody, or nil.
func (of *counted) alls() *seqset.Set {
	switch {
	case of.t != nil:
		return &of.t.Alls
	case of.x != nil:
		return &of.x.Alls
	}
	return nil
}

// first returns the first counted message above from that is neither the user's own nor in skip.
// There must be one.
func (of *counted) first(from uint32, skip *seqset.Set, isOwn func(uint32) bool) uint32 {
	for q := from + 1; ; q++ {
		for {
			t := skip.NextAbsent(q)
			if of.t != nil {
				t = of.t.Live.Next(t)
			} else if of.x != nil {
				t = of.x.Deleted.NextAbsent(of.x.Uncounted.NextAbsent(t))
			}
			if t == q {
				break
			}
			q = t
		}
		if !isOwn(q) {
			return q
		}
	}
}

// firstMention updates FirstMention with the oldest message of a set above from that the user did
// not write, read singly or hide.
func (n *Counts) firstMention(of *seqset.Set, from uint32, mine func(uint32) bool) {
	q := of.Next(from + 1)
	for q != 0 && mine(q) {
		q = of.Next(q + 1)
	}
	if q != 0 && (n.FirstMention == 0 || q < n.FirstMention) {
		n.FirstMention = q
	}
}
