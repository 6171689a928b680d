package rules

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Counts are the numbers of DESIGN §4.2.
type Counts struct {
	Unread, Mentions, First uint32
	Direct                  uint32 // those of Mentions that name the user
	FirstMention            uint32 // the lowest of Mentions
}

// counted is the messages of a scope that count: of a channel all but those that its sets take out,
// of a thread those of its own set.
type counted struct {
	c *state.Channel
	x *state.ChannelExtra // nil for nothing
	t *state.Thread       // nil: of the channel
}

// CountsOf counts what is unread for a pair with this scope.
func (p *Fold) CountsOf(c *state.Channel, r *state.Row, s *Scope) Counts {
	return p.count(&counted{c: c, x: p.ExtraOf(c)}, r, r, s, s.from(c, r))
}

// ThreadCounts counts what is unread for a user in a thread.
func (p *Fold) ThreadCounts(c *state.Channel, r *state.Row, s *ThreadScope) Counts {
	if !s.Counts || s.Thread.Live.Max() <= s.above {
		return Counts{}
	}
	return p.count(&counted{c: c, t: s.Thread}, r, s.Pair, &s.Scope, s.above)
}

// count counts the messages above from. r is the user's row in the scope, pair that in the channel.
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
	quiet := len(s.Own) == 0 && !singly // nothing above from is the user's own doing
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
	if singly { // by rank: somebody may read all of a channel in this way, and each message of others counts for them
		n.Unread -= of.common(s.Skip, from)
		if alls {
			n.Mentions -= s.Skip.Common(all, from)
		}
		for _, q := range s.Own { // these were taken off above
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

// above is how many there are above a seq.
func (of *counted) above(p *Fold, from uint32) uint32 {
	switch {
	case of.t != nil:
		return of.t.Live.Above(from)
	case of.x != nil:
		return of.c.HeadPos - p.PosAt(of.c, from) - of.x.Deleted.Above(from)
	}
	return of.c.HeadPos - p.PosAt(of.c, from)
}

// has reports whether a message of the channel is one of them.
func (of *counted) has(q uint32) bool {
	if of.t != nil {
		return of.t.Live.Contains(q)
	}
	return of.x == nil || (!of.x.Deleted.Contains(q) && !of.x.Uncounted.Contains(q))
}

// whole reports whether all posts above a seq that a user can have in the scope count.
func (of *counted) whole(from uint32) bool {
	return of.t == nil && (of.x == nil || of.x.Deleted.Max() <= from)
}

// common is how many members above a seq a set has that count.
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

// alls are those that mention all; nil for none.
func (of *counted) alls() *seqset.Set {
	switch {
	case of.t != nil:
		return &of.t.Alls
	case of.x != nil:
		return &of.x.Alls
	}
	return nil
}

// first is the first one above from that is not one of the user's own and not to be skipped. There
// is one.
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

// firstMention takes in the lowest of some mentions that is above from and none of those that the
// user wrote, read singly or does not see.
func (n *Counts) firstMention(of *seqset.Set, from uint32, mine func(uint32) bool) {
	q := of.Next(from + 1)
	for q != 0 && mine(q) {
		q = of.Next(q + 1)
	}
	if q != 0 && (n.FirstMention == 0 || q < n.FirstMention) {
		n.FirstMention = q
	}
}
