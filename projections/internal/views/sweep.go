package views

import (
	"slices"
	"weak"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// Sweep lists the channels and the threads of a user in a partition, with the data that inboxes and
// panels need to sort and sum them. For a user with many, it takes several holds of the lock, and
// the result is of the position of the last. A result of an earlier hold stays valid until
// something of the channel, or of the user in it, is folded; the stamp detects that (DESIGN §2).
// The last hold evaluates entries again that log time alone can change, such as waiting reads.
//
// A hold ends after SweepLooks entries, or when the memory that Grow allocated before the lock is
// full. So a hold allocates nothing: a goroutine that allocates may have to assist the garbage
// collector, and the fold would wait for that.
//
// You may use a complete list without the lock. Another Step then compares it again, and Version
// shows whether it has changed. Between two queries of one user you may put the list aside (Aside),
// so that the second query only compares.
type Sweep struct {
	UserID       string
	Inbox, Panel bool   // what to list: the channels, the threads
	ThreadsOf    string // if not empty: list only the ids of the threads in this channel

	p       *Queries
	aside   weak.Pointer[Queries] // the former p of a list that was put aside
	mem     *sweepMemory
	version uint64
	expires int64 // the log time from which a listed thread expires, as found by EachThread
	logTime int64
	grown   bool   // Grow was called after the last Step
	begun   bool   // a hold has begun with the user's rows
	next    uint32 // the row with which the next hold continues; 0: no rows are left
	retries int    // how often changed entries had to be evaluated again
	Looks   int    // entries evaluated in the last hold
	Holds   int
	PerHold int    // instead of SweepLooks, in tests
	warmed  uint64 // keeps the compiler from removing the loads of warmRows and warmThreads
}

// Step continues the list, and reports whether it is complete; it is then of p's current position.
// Call Step again, each time under its own hold of RLock, until it returns true. If p is another
// store of the partition than before, the list starts again.
func (s *Sweep) Step(of Source) (complete bool) {
	p := of.queries()
	if s.p == nil && s.aside == weak.Make(p) {
		s.p = p
	}
	if s.p != p {
		*s = Sweep{
			UserID: s.UserID, Inbox: s.Inbox, Panel: s.Panel, ThreadsOf: s.ThreadsOf,
			PerHold: s.PerHold, mem: s.mem, grown: s.grown, version: s.version + 1, p: p,
		}
		s.mem.clear()
	}
	if !s.grown {
		s.Grow()
	}
	s.grown = false
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
			return true // everything happened in one hold: there is nothing to compare
		}
	}
	return s.check(p, u)
}

// first returns the user's first row to visit.
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

// wants reports whether the list includes anything of a row.
func (s *Sweep) wants(p *Queries, r *state.Row) bool {
	return r.Flags&state.RowMember != 0 && (s.Inbox || p.rules.RareOf(r).Scope != 0)
}

// collect continues with the rows that no hold has visited, and reports whether it has visited all.
// If the row at which it stopped no longer belongs to the user, it ends, and check finds the
// missing rows.
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
		if s.wants(p, r) {
			last := len(m.pairs) - 1
			if last < 0 || m.pairs[last].done || m.pairs[last].ref != s.next {
				if s.left() <= 0 {
					return false
				}
				m.pairs = append(m.pairs, sweptPair{ref: s.next, ch: r.Channel})
				last++
			}
			x := &m.pairs[last]
			if x.m != 0 && !x.stands(p, r) { // it was partly evaluated
				*x = sweptPair{ref: s.next, ch: r.Channel}
				s.retries++
			}
			if s.evaluate(p, r, x); !x.done {
				return false
			}
		}
		s.next = s.after(r)
	}
	return true
}

// check compares the list with the user's rows, all in this hold, and evaluates changed entries
// again. It reports whether the list is complete.
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
		if !s.wants(p, r) {
			continue
		}
		x := sweptPair{ref: this}
		if i := findPair(old, this); i >= 0 {
			if i > 0 {
				s.version++ // the user has lost a channel
			}
			x, old = old[i], old[i+1:]
		}
		if x.waits || !x.stands(p, r) {
			x = sweptPair{ref: this, ch: r.Channel}
		}
		if !x.done {
			s.version++
			s.evaluate(p, r, &x)
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

// findPair returns the index of a row's pair in the list, or -1 if it is new. The index is 0 unless
// rows have left the list.
func findPair(list []sweptPair, ref uint32) int {
	const left = 16 // more are evaluated again
	return slices.IndexFunc(list[:min(left, len(list))], func(x sweptPair) bool { return x.ref == ref })
}

// stands reports whether the entry of a pair is still valid, apart from changes by log time alone.
func (x *sweptPair) stands(p *Queries, r *state.Row) bool {
	return x.ch == r.Channel && x.m == p.rules.Channels.At(r.Channel).LastM && x.r == p.rules.LastR(r) && x.d == p.rules.RareOf(r).LastD &&
		(x.next == 0 || p.rules.Follows.Has(x.next) && p.rules.Follows.At(x.next).Pair == x.ref)
}

// evaluate evaluates the rest of a pair, as far as the limit of this hold allows.
func (s *Sweep) evaluate(p *Queries, r *state.Row, x *sweptPair) {
	if s.left() <= 0 {
		return
	}
	m, c := s.mem, p.rules.Channels.At(r.Channel)
	if x.m == 0 {
		standing, hasSettings := p.standingOf(c, r)
		if hasSettings && len(m.standings) == cap(m.standings) && !s.unbounded() {
			m.crowded = true
			return
		}
		if x.standing = 0; hasSettings {
			m.standings = append(m.standings, standing)
			x.standing = uint32(len(m.standings))
		}
		s.Looks++
		x.m, x.r, x.d, x.next = c.LastM, p.rules.LastR(r), p.rules.RareOf(r).LastD, p.rules.RareOf(r).Scope
		x.name, x.muted = m.keep(p.rules.Blobs.Get(c.ID)), r.Flags&state.RowMuted != 0
		x.first, x.threads = uint32(len(m.threads)), 0
		x.waits = s.ThreadsOf == "" && p.rules.ExtraOfPair(r).Waits()
		if s.Inbox {
			e := p.inboxEntry(c, r)
			x.unread, x.mentions, x.latestAt = e.Unread, e.Mentions, e.LatestAt
		}
	}
	if s.Panel && x.next != 0 && x.first+x.threads != uint32(len(m.threads)) { // entries of another pair came between
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
			s.evaluateThread(p, c, x, fi)
		}
	}
	x.next, x.done = 0, true
}

// evaluateThread evaluates the next thread of a pair.
func (s *Sweep) evaluateThread(p *Queries, c *state.Channel, x *sweptPair, fi uint32) {
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
