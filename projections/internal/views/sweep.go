package views

import (
	"slices"
	"weak"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// Sweep lists the channels and the threads of a user in a partition by what inboxes and panels sort
// and sum by. It looks at those of a user who has many under several holds of the lock, and the
// list is of the position of the last: what an earlier hold found holds good as long as nothing was
// folded of the channel, nor of the user in it, which the stamp tells (DESIGN §2). What can change
// with the log time alone, reads that wait, the last hold looks at again.
//
// A hold ends when Sweep has looked at SweepLooks, or when the memory is full that Room made before
// the lock was taken. So it allocates nothing: who allocates may have to work for the collector,
// and whoever folds would wait for that.
//
// A complete list may be worked with without the lock. Another Step then compares it again, and
// Version tells whether it is still the same. Between two questions of one user it may be put aside
// (Aside), so that the second only compares.
type Sweep struct {
	UserID       string
	Inbox, Panel bool   // what is wanted: the channels, the threads
	ThreadsOf    string // if it is not empty: only the ids of the threads in this channel

	p       *Queries
	aside   weak.Pointer[Queries] // what p was when the list was put aside
	mem     *sweepMemory
	version uint64
	expires int64 // the log time from which a listed thread is not listed any more, as EachThread saw it
	logTime int64
	roomy   bool   // Room was called after the last Step
	begun   bool   // a hold has begun to go through the user's rows
	next    uint32 // the row at which the next hold goes on; 0: all were gone through
	retries int    // how often what had changed was to be looked at again
	Looks   int    // under the last hold
	Holds   int
	PerHold int    // instead of SweepLooks, in tests
	warmed  uint64 // keeps the loads of warmRows and warmThreads from being left out
}

// Step goes on, and reports whether the list is complete; it is of p's position then. It is called
// again, each time under a hold of RLock of its own, until it is so. p may be another store of the
// partition: then it begins anew.
func (s *Sweep) Step(of Source) (complete bool) {
	p := of.queries()
	if s.p == nil && s.aside == weak.Make(p) {
		s.p = p
	}
	if s.p != p {
		*s = Sweep{
			UserID: s.UserID, Inbox: s.Inbox, Panel: s.Panel, ThreadsOf: s.ThreadsOf,
			PerHold: s.PerHold, mem: s.mem, roomy: s.roomy, version: s.version + 1, p: p,
		}
		s.mem.clear()
	}
	if !s.roomy {
		s.Room()
	}
	s.roomy = false
	s.Holds++
	s.logTime, s.Looks = p.rules.MessageTime, 0
	if s.logTime > s.expires {
		s.version++
	}
	u := p.rules.UserOf([]byte(s.UserID))
	if u == 0 {
		s.mem.clear()
		s.version++
		return true
	}
	first := !s.begun
	if first {
		s.begun, s.next = true, s.first(u)
		s.version++
	}
	if s.next != 0 {
		if !s.collect(p, u) {
			return false
		}
		if first {
			return true // under one hold: there is nothing to compare
		}
	}
	return s.check(p, u)
}

// first is the first row of the user that is looked at.
func (s *Sweep) first(u uint32) uint32 {
	if s.ThreadsOf == "" {
		return s.p.rules.Users.At(u).First
	}
	ci, _, ok := s.p.rules.KnownChannel(s.ThreadsOf)
	if !ok {
		return 0
	}
	return s.p.rules.RowOf(ci, u)
}

// wants reports whether the list has anything of a row.
func (s *Sweep) wants(r *state.Row) bool {
	return r.Flags&state.RowMember != 0 && (s.Inbox || r.Scope != 0)
}

// collect goes on with the rows that no hold has looked at, and reports whether it has gone through
// all. Where the row at which it was to go on is none of the user's any more, check finds what is
// missing.
func (s *Sweep) collect(p *Queries, u uint32) (all bool) {
	m := s.mem
	if !p.rules.Rows.Has(s.next) || p.rules.Rows.At(s.next).User != u || p.rules.Rows.At(s.next).Flags&state.RowThread != 0 {
		s.next = 0
	}
	for n := 0; s.next != 0; n++ {
		if n%sweepBatch == 0 {
			s.warmRows(p, s.next, true)
		}
		r := p.rules.Rows.At(s.next)
		if s.wants(r) {
			last := len(m.pairs) - 1
			if last < 0 || m.pairs[last].done || m.pairs[last].ref != s.next {
				if s.left() <= 0 {
					return false
				}
				m.pairs = append(m.pairs, sweptPair{ref: s.next, ch: r.Channel})
				last++
			}
			x := &m.pairs[last]
			if x.m != 0 && !x.stands(p, r) { // it was looked at in part
				*x = sweptPair{ref: s.next, ch: r.Channel}
				s.retries++
			}
			if s.look(p, r, x); !x.done {
				return false
			}
		}
		s.next = s.after(r)
	}
	return true
}

// check compares what was found with the user's rows, all under this hold, and looks again at what
// has changed. It reports whether the list is complete.
func (s *Sweep) check(p *Queries, u uint32) (complete bool) {
	m := s.mem
	old, pairs := m.pairs, m.spare[:0]
	n := 0
	for ref := s.first(u); ref != 0; n++ {
		if n%sweepBatch == 0 {
			s.warmRows(p, ref, false)
		}
		r := p.rules.Rows.At(ref)
		this := ref
		ref = s.after(r)
		if !s.wants(r) {
			continue
		}
		x := sweptPair{ref: this}
		if i := findPair(old, this); i >= 0 {
			if i > 0 {
				s.version++ // a channel is not the user's any more
			}
			x, old = old[i], old[i+1:]
		}
		if x.waits || !x.stands(p, r) {
			x = sweptPair{ref: this, ch: r.Channel}
		}
		if !x.done {
			s.version++
			s.look(p, r, &x)
		}
		pairs = append(pairs, x)
		if !x.done {
			m.pairs, m.spare = append(pairs, old...), m.pairs
			s.retries++
			return false
		}
	}
	if len(old) > 0 {
		s.version++
	}
	m.pairs, m.spare = pairs, m.pairs
	return true
}

// findPair is where the pair with a row is in the list, at its beginning unless rows have left it;
// -1 if it is new.
func findPair(list []sweptPair, ref uint32) int {
	const left = 16 // more are looked at anew
	return slices.IndexFunc(list[:min(left, len(list))], func(x sweptPair) bool { return x.ref == ref })
}

// stands reports whether what was found of the pair holds good, as far as that does not change with
// the log time alone.
func (x *sweptPair) stands(p *Queries, r *state.Row) bool {
	return x.ch == r.Channel && x.m == p.rules.Channels.At(r.Channel).LastM && x.r == r.LastR && x.d == r.LastD &&
		(x.next == 0 || p.rules.Follows.Has(x.next) && p.rules.Follows.At(x.next).Pair == x.ref)
}

// look looks at what was not looked at yet of the pair, unless that is more than is left to this
// hold.
func (s *Sweep) look(p *Queries, r *state.Row, x *sweptPair) {
	if s.left() <= 0 {
		return
	}
	m, c := s.mem, p.rules.Channels.At(r.Channel)
	if x.m == 0 {
		standing, said := p.standingOf(c, r)
		if said && len(m.standings) == cap(m.standings) && !s.unbounded() {
			m.crowded = true
			return
		}
		if x.standing = 0; said {
			m.standings = append(m.standings, standing)
			x.standing = uint32(len(m.standings))
		}
		s.Looks++
		x.m, x.r, x.d, x.next = c.LastM, r.LastR, r.LastD, r.Scope
		x.name, x.muted = m.keep(p.rules.Blobs.Get(c.ID)), r.Flags&state.RowMuted != 0
		x.first, x.threads = uint32(len(m.threads)), 0
		x.waits = s.ThreadsOf == "" && p.rules.ExtraOfPair(r).Waits()
		if s.Inbox {
			e := p.inboxEntry(c, r)
			x.unread, x.mentions, x.latestAt = e.Unread, e.Mentions, e.LatestAt
		}
	}
	if s.Panel && x.next != 0 && x.first+x.threads != uint32(len(m.threads)) { // another pair's came between
		at := len(m.threads)
		m.threads = append(m.threads, m.threads[x.first:x.first+x.threads]...)
		x.first = uint32(at)
	}
	for s.Panel && x.next != 0 {
		n := s.left()
		if n <= 0 {
			return
		}
		var batch [sweepBatch]uint32
		for _, fi := range s.warmThreads(p, x.next, batch[:min(n, sweepBatch)]) {
			s.Looks++
			s.lookAtThread(p, c, x, fi)
		}
	}
	x.next, x.done = 0, true
}

// lookAtThread looks at the next thread of a pair.
func (s *Sweep) lookAtThread(p *Queries, c *state.Channel, x *sweptPair, fi uint32) {
	f := p.rules.Follows.At(fi)
	x.next = f.Sibling
	row := p.rules.Rows.At(f.Row)
	t := p.rules.ThreadScopeOf(c, row)
	if !t.Follows {
		return
	}
	e := sweptThread{touched: p.rules.TouchedAt(c, &t), follow: fi, name: s.mem.keep(p.rules.Blobs.Get(t.Thread.ID))}
	if s.ThreadsOf == "" {
		e.unread, e.mentions = p.rules.ThreadTotals(c, row, &t)
		if t.Newest != 0 {
			e.repliedAt = t.Thread.RepliedAt(&p.rules.State, c, t.Newest)
		}
		x.waits = x.waits || p.rules.ExtraOfPair(row).Waits()
	}
	s.mem.threads = append(s.mem.threads, e)
	x.threads++
}
