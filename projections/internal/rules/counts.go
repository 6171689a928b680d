package rules

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/projections/internal/seqset"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// Scope is what a user's reads come to at this position: the pointer as shown, and the single reads
// above it.
type Scope struct {
	Pointer uint32 // with own posts
	At, Ev  int64
	Singles *seqset.Set
	Skip    *seqset.Set // read singly or hidden
	Own     []uint32    // own posts above Pointer, ascending; nil where there cannot be any
	// HiddenTo is up to where the user hid everything: the pointer may be before it.
	HiddenTo uint32
	ahead    bool              // they hid also what is not posted yet: what is hidden grows without a delta
	threads  state.WithThreads // of a thread: how far reads of the channel with its threads go
	hidden   *seqset.Set       // that the user hid one by one; nil for none
}

// NoSingles is the empty set that scopes without single reads share; nothing writes to it.
var NoSingles seqset.Set

// ScopeOf evaluates a row. It changes nothing, so that readers may call it.
func (p *Fold) ScopeOf(c *state.Channel, r *state.Row) Scope {
	s := p.PointerOf(c, r)
	if r.LastOwn > s.Pointer {
		var kept bool
		if s.Own, kept = p.KeptOwn(r, s.Pointer); !kept {
			s.Own = p.OwnSince(c, r, s.Pointer)
		}
	}
	if h := p.HiddenOf(r); h != nil {
		s.hide(c, h)
	}
	return s
}

// PointerOf is ScopeOf without own posts above the pointer and without what is hidden.
func (p *Fold) PointerOf(c *state.Channel, r *state.Row) Scope {
	s := Scope{Pointer: r.Pointer, At: r.At, Ev: r.Event, Singles: &NoSingles}
	floorH, held := r.OwnFloor, false
	if x := p.ExtraOfPair(r); x != nil {
		s.Singles = &x.Singles
		if len(x.Unsettled)+len(x.Floors) > 0 {
			s.Pointer, floorH, s.At, s.Ev, s.threads, s.Singles = p.Evaluate(c, r, x)
			held = true
		}
	}
	if r.Flags&state.RowThread != 0 && !held {
		s.threads = p.WithThreadsOf(c, r)
	}
	if own, at := p.NewestRead(r); own > floorH && own >= s.Pointer {
		s.Pointer, s.At, s.Ev = own, at, OwnPost
	}
	s.Skip = s.Singles
	return s
}

// OwnPost stands for the record of the newest own post, which is in its log entry.
const OwnPost = -1

// from is the seq above which messages can be unread.
func (s *Scope) from(c *state.Channel, r *state.Row) uint32 {
	return max(s.Pointer, r.Baseline, c.Floor, s.HiddenTo)
}

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

// MaxListed is the number of positions that a delta or a channel record lists at most (DESIGN §7).
const MaxListed = 1000

// ExcludedOf lists the positions above readPos that are own, read singly or hidden by the user.
func (p *Fold) ExcludedOf(c *state.Channel, s *Scope, above uint32) []uint32 {
	return p.excluded(c, s, above, MaxListed)
}

// excluded is ExcludedOf for another length of the list.
func (p *Fold) excluded(c *state.Channel, s *Scope, above uint32, most int) []uint32 {
	if s.HiddenTo > above && !s.ahead { // all positions up to there
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

// newestCounted appends the members of a set above a seq that are counted messages: the newest, as
// many as are listed at least.
func (p *Fold) newestCounted(seqs []uint32, c *state.Channel, set *seqset.Set, above uint32, most int) []uint32 {
	start := len(seqs)
	x := p.ExtraOf(c)
	silent := x != nil && x.Uncounted.Max() > above
	for n, more := most, true; more; n *= 2 { // from the newest on, until there are enough that count
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

// Signature is a hash of all that a delta of the pair says, but for the stamp and the text of the
// latest message. Equal signatures before and after an event mean that there is nothing to tell.
func (p *Fold) Signature(c *state.Channel, r *state.Row) uint64 {
	if r.Flags&state.RowThread != 0 {
		return p.ThreadSignature(c, r)
	}
	s := p.ScopeOf(c, r)
	b := p.SigBuf[:0]
	put := func(v ...uint32) {
		for _, v := range v {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	if s.Pointer == 0 {
		s.At = 0 // not told
	}
	put(s.Pointer, uint32(s.At), uint32(s.At>>32), r.Marks)
	if said := p.ExtraSaid(r); said == nil {
		put(uint32(r.Flags & (state.RowMember | state.RowMuted)))
	} else {
		b = p.appendSaid(b, c, r, said)
	}
	if r.Flags&state.RowMember != 0 {
		n := p.CountsOf(c, r, &s)
		put(p.OfflineUnread(c, r, &s))
		if c.Flags&state.ChannelLarge == 0 {
			put(n.Unread, n.Mentions, n.First, c.Latest)
			n.appendMentions(put)
		} else {
			above := max(s.Pointer, r.Baseline)
			put(^uint32(0), p.PosAt(c, above))
			put(p.ExcludedOf(c, &s, above)...)
			put(^uint32(0))
			put(p.MentionedOf(c, r, above)...)
			if p.AskOf(c, r, &s, above) {
				put(^uint32(0))
			}
		}
	}
	p.SigBuf = b
	return xxh3.Hash(b)
}
