package projections

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/events"
)

// threadListed is how long after its last reply, or the user's last read or follow in it, a thread is listed, in
// milliseconds of log time (DESIGN §4.4).
const threadListed = 30 * 24 * 3600 * 1000

// threadScope is what a user's row in a thread comes to at this position.
type threadScope struct {
	scope
	t       *thread
	f       *follow
	pair    *row
	chosen  bool   // the user follows, whatever became of the thread and of him
	follows bool   // and the thread is there
	counts  bool   // replies count for him
	from    uint32 // the seq above which they do
}

func (p *Partition) threadScopeOf(c *channel, r *row) threadScope {
	return p.threadScopeWith(c, r, p.scopeOf(c, r))
}

// threadScopeWith is threadScopeOf for a scope that is known.
func (p *Partition) threadScopeWith(c *channel, r *row, of scope) threadScope {
	s := threadScope{scope: of, f: p.follows.at(r.scope)}
	s.t, s.pair = p.threads[s.f.thread], p.rows.at(s.f.pair)
	from, is := p.followFrom(c, s.f)
	s.chosen, s.follows = is, is && !s.t.gone(c)
	left := s.pair.flags&rowMember == 0 && s.pair.ord != noOrdinal
	s.counts = s.follows && !left
	s.from = max(s.ptr, s.pair.base, c.floor, from)
	return s
}

// threadCounts are the numbers of DESIGN §4.2 for a thread.
func (p *Partition) threadCounts(r *row, s *threadScope) (n counts) {
	if !s.counts || s.t.live.max() <= s.from {
		return n
	}
	mine := func(q uint32) bool {
		_, own := slices.BinarySearch(s.own, q)
		return own || s.singles.contains(q)
	}
	n.unread = s.t.live.above(s.from)
	skip := func(q uint32) {
		if q > s.from && s.t.live.contains(q) {
			n.unread--
		}
	}
	for _, q := range s.own {
		skip(q)
	}
	if s.singles.max() > s.from {
		n.unread -= s.singles.common(&s.t.live, s.from)
		for _, q := range s.own { // these were taken off above
			if q > s.from && s.singles.contains(q) && s.t.live.contains(q) {
				n.unread++
			}
		}
	}
	if s.t.alls.max() > s.from {
		for q := s.t.alls.next(s.from + 1); q != 0; q = s.t.alls.next(q + 1) {
			if !mine(q) {
				n.mentions++
			}
		}
	}
	if e := p.excOf(r); e != nil && e.mentions.max() > s.from {
		for q := e.mentions.next(s.from + 1); q != 0; q = e.mentions.next(q + 1) {
			if !mine(q) && !s.t.alls.contains(q) {
				n.mentions++
			}
		}
	}
	if n.unread > 0 {
		for n.first = s.t.live.next(s.from + 1); mine(n.first); {
			n.first = s.t.live.next(max(n.first+1, s.singles.nextAbsent(n.first)))
		}
	}
	return n
}

// threadSignature is signature for a thread's row; 0 where there is nothing to tell.
func (p *Partition) threadSignature(c *channel, r *row) uint64 {
	if c.flags&chDeleted != 0 {
		return 0
	}
	s := p.threadScopeOf(c, r)
	shown := s.follows && s.pair.flags&rowMember != 0
	if !s.chosen && s.ptr == 0 && r.marks == 0 && s.f.flags&foUnfollowed == 0 {
		return 0
	}
	b := p.sigBuf[:0]
	put := func(v ...uint32) {
		for _, v := range v {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	if s.ptr == 0 {
		s.at = 0
	}
	put(s.ptr, uint32(s.at), uint32(s.at>>32), r.marks)
	if s.chosen {
		put(2) // also where it is not shown: folded in another order it may have been
	}
	if s.f.flags&foUnfollowed != 0 {
		put(3) // also where he did not follow: in another order he may have, and readers were told
	}
	if shown {
		n := p.threadCounts(r, &s)
		touched := p.touchedAt(c, &s)
		put(1, n.unread, n.mentions, n.first, s.t.newest(c.floor), uint32(touched), uint32(touched>>32))
	}
	p.sigBuf = b
	return xxh3.Hash(b)
}

// shownIn reports whether the thread is one of the user's.
func (p *Partition) shownIn(c *channel, r *row) bool {
	s := p.threadScopeOf(c, r)
	return s.follows && s.pair.flags&rowMember != 0 && c.flags&chDeleted == 0
}

// drainThreads emits what changed for the followers of threads.
func (p *Partition) drainThreads(d *Deltas) {
	for _, ti := range p.outThreads {
		t := p.threads[ti]
		replied := t.flags&thReplied != 0
		t.flags &^= thListed | thReplied
		c := p.chans.at(t.ch)
		for fi := t.follows; fi != 0; {
			f := p.follows.at(fi)
			fi = f.next
			r := p.rows.at(f.row)
			p.drainThread(d, c, r, replied && r.out == 0) // else it was drained on its own before
		}
	}
	p.outThreads = p.outThreads[:0]
}

// drainThread emits the delta of a user in a thread, unless it would say what the last one did. A reply changed what he
// sees for sure, even if it is gone again: an owner before this one may have told it. member says whether the
// thread is one of his; where it is not, all counts are zero and only his pointer is told.
func (p *Partition) drainThread(d *Deltas, c *channel, r *row, replied bool) {
	f := p.follows.at(r.scope)
	p.closeFollow(c, f)
	sig := p.threadSignature(c, r)
	if sig == f.seen && !(replied && p.shownIn(c, r)) {
		return
	}
	f.seen = sig
	if x := p.excOf(r); x != nil && x.openInTime() {
		f.seen = seenUnknown // it is told again when it closes
	}
	if d == nil {
		return
	}
	s := p.threadScopeOf(c, r)
	p.keepOwn(r, &s.scope)
	u := p.users.at(r.user)
	m := &p.out
	*m = events.UnreadDelta{
		UserID: p.userID(r.user), ChannelID: p.blobs.get(c.id), ThreadID: p.blobs.get(s.t.id),
		Member:    s.follows && s.pair.flags&rowMember != 0 && c.flags&chDeleted == 0,
		ReadEpoch: r.marks + 1, Stamp: p.stampOf(c, s.pair),
	}
	if s.ptr > 0 {
		m.LastRead = events.Ref{MessageID: p.idBytes(c, s.ptr, &r.lastSeq, &r.lastID), Seq: s.ptr}
		m.LastReadAt = s.at
	}
	if m.Member {
		n := p.threadCounts(r, &s)
		m.Unread, m.Mentions, m.TouchedAt = n.unread, n.mentions, p.touchedAt(c, &s)
		if n.first > 0 {
			m.FirstUnread = events.Ref{MessageID: p.idBytes(c, n.first, &r.firstSeq, &r.firstID), Seq: n.first}
		}
		if last := s.t.newest(c.floor); last != 0 {
			e := p.entryAt(c, last)
			m.Latest = events.Head{Seq: last, At: e.time}
			if c.tells(&e, p.settings.IndexRetention) {
				m.Latest.MessageID, m.Latest.SenderID, m.Latest.Preview = e.id, e.sender, e.preview
			}
		}
	}
	if r.out != 0 {
		o := p.outRows[r.out-1]
		m.InstanceID = p.origins[o.from:o.to]
	}
	p.keepUnread(d, m, u.part)
}
