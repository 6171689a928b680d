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

// CountsOf counts what is unread for a pair with this scope.
func (p *Fold) CountsOf(c *state.Channel, r *state.Row, s *Scope) (n Counts) {
	from := s.from(c, r)
	x := p.ExtraOf(c)
	n.Unread = c.HeadPos - p.PosAt(c, from)
	if x != nil {
		n.Unread -= x.Deleted.Above(from)
	}
	live := func(q uint32) bool {
		return x == nil || (!x.Deleted.Contains(q) && !x.Uncounted.Contains(q))
	}
	isOwn := func(q uint32) bool { _, ok := slices.BinarySearch(s.Own, q); return ok }
	mine := func(q uint32) bool { return isOwn(q) || s.Skip.Contains(q) }
	singly := s.Skip.Max() > from
	e := p.ExtraOfPair(r)
	alls := x != nil && x.Alls.Max() > from && !p.IgnoresAll(r)
	if alls {
		n.Mentions = x.Alls.Above(from)
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
			if n.Direct++; !alls || !x.Alls.Contains(q) {
				n.Mentions++
			}
		}
	}
	skip := func(q uint32) {
		if q > from && live(q) {
			n.Unread--
			if alls && x.Alls.Contains(q) {
				n.Mentions--
			}
		}
	}
	if x == nil || (x.Deleted.Max() <= from && !alls) {
		i, _ := slices.BinarySearch(s.Own, from+1)
		n.Unread -= uint32(len(s.Own) - i)
	} else {
		for _, q := range s.Own {
			skip(q)
		}
	}
	if singly { // by rank: somebody may read all of a channel in this way, and each message of others counts for them
		n.Unread -= s.Skip.Above(from)
		if x != nil {
			n.Unread += s.Skip.Common(&x.Deleted, from) + s.Skip.Common(&x.Uncounted, from)
		}
		if alls {
			n.Mentions -= s.Skip.Common(&x.Alls, from)
		}
		for _, q := range s.Own { // these were taken off above
			if q > from && s.Skip.Contains(q) && live(q) {
				n.Unread++
				if alls && x.Alls.Contains(q) {
					n.Mentions++
				}
			}
		}
	}
	if n.Unread > 0 {
		n.First = p.firstAbove(x, from, s.Skip, isOwn)
	}
	if n.Mentions > 0 {
		if alls {
			n.firstMention(&x.Alls, from, mine)
		}
		if e != nil {
			n.firstMention(&e.Mentions, from, mine)
		}
	}
	return n
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

// appendMentions adds to a signature what a delta says of the mentions besides their number.
func (n *Counts) appendMentions(put func(...uint32)) {
	if n.Mentions > 0 {
		put(n.Direct, n.FirstMention)
	}
}

// firstAbove is the first seq above from that is live, counted, not one of the user's own and not
// to be skipped. There is one.
func (p *Fold) firstAbove(x *state.ChannelExtra, from uint32, skip *seqset.Set, isOwn func(uint32) bool) uint32 {
	for q := from + 1; ; q++ {
		for {
			t := skip.NextAbsent(q)
			if x != nil {
				t = x.Deleted.NextAbsent(x.Uncounted.NextAbsent(t))
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
