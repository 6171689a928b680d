package projections

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// scope is what a user's reads come to at this position: the pointer as shown, and the single reads above it.
type scope struct {
	ptr     uint32 // with own posts
	at, ev  int64
	singles *seqset
	own     []uint32 // own posts above ptr, ascending; nil where there cannot be any
}

// noSingles is the empty set that scopes without single reads share; nothing writes to it.
var noSingles seqset

// scopeOf evaluates a row. It changes nothing, so that readers may call it.
func (p *Partition) scopeOf(c *channel, r *row) scope {
	s := p.pointerOf(c, r)
	if r.lastOwn > s.ptr {
		var kept bool
		if s.own, kept = p.keptOwn(r, s.ptr); !kept {
			s.own = p.ownSince(c, r, s.ptr)
		}
	}
	return s
}

// keptOwn is the row's own posts above low, ascending, if they are in memory.
func (p *Partition) keptOwn(r *row, low uint32) (own []uint32, kept bool) {
	x := p.excOf(r)
	if x == nil || !x.ownKept || x.ownFrom > low {
		return nil, false
	}
	i, _ := slices.BinarySearch(x.own, low+1)
	return x.own[i:], true
}

// pointerOf is scopeOf without own posts above the pointer.
func (p *Partition) pointerOf(c *channel, r *row) scope {
	s := scope{ptr: r.ptr, at: r.at, ev: r.ev, singles: &noSingles}
	floorH := r.floorH
	if x := p.excOf(r); x != nil {
		s.singles = &x.singles
		if len(x.held)+len(x.floors) > 0 {
			s.ptr, floorH, s.at, s.ev, s.singles = p.evaluate(c, r, x)
		}
	}
	if p.settings.SendMarksRead && r.lastOwn > floorH && r.lastOwn >= s.ptr {
		s.ptr, s.at, s.ev = r.lastOwn, r.ownAt, evOwn
	}
	return s
}

// ownSince reads the own posts of a row's scope above low off the log, ascending.
func (p *Partition) ownSince(c *channel, r *row, low uint32) (own []uint32) {
	for q := r.lastOwn; q > low; {
		own = append(own, q)
		e := p.entryAt(c, q)
		q = e.previous(r)
	}
	slices.Reverse(own)
	return own
}

// evOwn stands for the record of the newest own post, which is in its log entry.
const evOwn = -1

// evaluate replays what is held over the base, as the timeline stands: what waits for something does nothing yet.
func (p *Partition) evaluate(c *channel, r *row, x *exc) (ptr, floorH uint32, at, ev int64, singles *seqset) {
	b := base{r.ptr, r.floorH, r.at, r.ev}
	if len(x.floors) > 0 {
		b.floorH = c.headSeq
	}
	work := x.singles.clone()
	for i := range x.held {
		h := x.held[i]
		switch h.kind {
		case heldRead:
			if h.closed {
				b.read(h.seq, h.at, h.off)
			} else if h.by == byTime {
				b.read(c.headSeq, h.at, h.off)
			}
		case heldSingle:
			if h.closed && h.seq > b.ptr {
				work.add(h.seq)
			}
		case heldMark:
			if !h.closed || (h.headBy == byID && !h.head) {
				continue
			}
			if !h.head {
				h.headSeq = c.headSeq
			}
			h.head = true
			if _, effective := p.mark(c, r, &b, work, &h, false, true); effective {
				b.floorH = max(b.floorH, h.headSeq)
			}
		}
		work.removeTo(b.ptr)
	}
	return b.ptr, b.floorH, b.at, b.ev, work
}

// from is the seq above which messages can be unread.
func (s *scope) from(c *channel, r *row) uint32 { return max(s.ptr, r.base, c.floor) }

// pos is the running count of counted messages at seq.
func (p *Partition) posAt(c *channel, seq uint32) uint32 {
	if seq == 0 {
		return 0
	}
	if seq >= c.headSeq {
		return c.headPos
	}
	if x := p.extOf(c); x != nil {
		return seq - x.uncounted.rank(seq)
	}
	return seq
}

// counts are the numbers of DESIGN §4.2.
type counts struct {
	unread, mentions, first uint32
}

func (p *Partition) countsOf(c *channel, r *row, s *scope) (n counts) {
	from := s.from(c, r)
	x := p.extOf(c)
	n.unread = c.headPos - p.posAt(c, from)
	if x != nil {
		n.unread -= x.deleted.above(from)
	}
	live := func(q uint32) bool {
		return x == nil || (!x.deleted.contains(q) && !x.uncounted.contains(q))
	}
	isOwn := func(q uint32) bool { _, ok := slices.BinarySearch(s.own, q); return ok }
	mine := func(q uint32) bool { return isOwn(q) || s.singles.contains(q) }
	singly := s.singles.max() > from
	e := p.excOf(r)
	alls := x != nil && x.alls.max() > from
	if alls {
		n.mentions = x.alls.above(from)
	}
	quiet := len(s.own) == 0 && !singly // nothing above from is the user's own doing
	if e != nil && quiet && !alls {
		n.mentions = e.mentions.above(from)
	} else if e != nil {
		for q := e.mentions.next(from + 1); q != 0; q = e.mentions.next(q + 1) {
			if !mine(q) && !(alls && x.alls.contains(q)) {
				n.mentions++
			}
		}
	}
	skip := func(q uint32) {
		if q > from && live(q) {
			n.unread--
			if alls && x.alls.contains(q) {
				n.mentions--
			}
		}
	}
	if x == nil || (x.deleted.max() <= from && !alls) {
		i, _ := slices.BinarySearch(s.own, from+1)
		n.unread -= uint32(len(s.own) - i)
	} else {
		for _, q := range s.own {
			skip(q)
		}
	}
	if singly { // by rank: somebody may read all of a channel in this way, and every message of others is counted for him
		n.unread -= s.singles.above(from)
		if x != nil {
			n.unread += s.singles.common(&x.deleted, from) + s.singles.common(&x.uncounted, from)
		}
		if alls {
			n.mentions -= s.singles.common(&x.alls, from)
		}
		for _, q := range s.own { // these were taken off above
			if q > from && s.singles.contains(q) && live(q) {
				n.unread++
				if alls && x.alls.contains(q) {
					n.mentions++
				}
			}
		}
	}
	if n.unread > 0 {
		n.first = p.firstAbove(x, from, s.singles, isOwn)
	}
	return n
}

// firstAbove is the first seq above from that is live, counted and not one of the user's own or singly read. There is
// one.
func (p *Partition) firstAbove(x *ext, from uint32, singles *seqset, isOwn func(uint32) bool) uint32 {
	for q := from + 1; ; q++ {
		for {
			t := singles.nextAbsent(q)
			if x != nil {
				t = x.deleted.nextAbsent(x.uncounted.nextAbsent(t))
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

// listed is the number of positions that a delta or a channel record lists at most (DESIGN §7).
const listed = 1000

// excludedOf lists the positions above readPos that are own or read singly.
func (p *Partition) excludedOf(c *channel, s *scope, above uint32) []uint32 {
	if len(s.own) == 0 && s.singles.max() <= above {
		return nil
	}
	var seqs []uint32
	x := p.extOf(c)
	silent := x != nil && x.uncounted.max() > above
	for n, more := listed, true; more; n *= 2 { // from the newest on, until there are enough that count
		seqs = s.singles.newest(seqs[:0], above, n)
		more = len(seqs) == n
		if silent {
			seqs = slices.DeleteFunc(seqs, x.uncounted.contains)
		}
		more = more && len(seqs) < listed
	}
	for _, q := range s.own {
		if q > above {
			seqs = append(seqs, q)
		}
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	return p.positions(c, seqs[max(0, len(seqs)-listed):])
}

func (p *Partition) mentionedOf(c *channel, r *row, above uint32) []uint32 {
	e := p.excOf(r)
	if e == nil || e.mentions.max() <= above {
		return nil
	}
	return p.positions(c, e.mentions.newest(nil, above, listed))
}

// positions turns seqs of counted messages into their positions, in place.
func (p *Partition) positions(c *channel, seqs []uint32) []uint32 {
	for i, q := range seqs {
		seqs[i] = p.posAt(c, q)
	}
	return seqs
}

// signature is a hash of all that a delta of the pair says, but for the stamp and the text of the latest message. Equal
// signatures before and after an event mean that there is nothing to tell.
func (p *Partition) signature(c *channel, r *row) uint64 {
	if r.flags&rowThread != 0 {
		return p.threadSignature(c, r)
	}
	s := p.scopeOf(c, r)
	b := p.sigBuf[:0]
	put := func(v ...uint32) {
		for _, v := range v {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	if s.ptr == 0 {
		s.at = 0 // not told
	}
	put(s.ptr, uint32(s.at), uint32(s.at>>32), r.marks, uint32(r.flags&(rowMember|rowMuted)))
	if r.flags&rowMember != 0 {
		n := p.countsOf(c, r, &s)
		put(p.offlineOf(c, r, &s))
		if c.flags&chLarge == 0 {
			put(n.unread, n.mentions, n.first, c.latest)
		} else {
			above := max(s.ptr, r.base)
			put(^uint32(0), p.posAt(c, above))
			put(p.excludedOf(c, &s, above)...)
			put(^uint32(0))
			put(p.mentionedOf(c, r, above)...)
		}
	}
	p.sigBuf = b
	return xxh3.Hash(b)
}

// stampOf is the stamp of one (user, channel) (DESIGN §2).
func (p *Partition) stampOf(c *channel, r *row) events.Stamp {
	return events.Stamp{FoldVersion: FoldVersion, M: c.lastM, R: r.lastR, D: r.lastD}
}
