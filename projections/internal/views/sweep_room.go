package views

import (
	"cmp"
	"weak"
)

const (
	// SweepLooks is how many channels and threads Sweep looks at under one hold of the lock. Those
	// that it has looked at before it only compares.
	SweepLooks = 1500
	// firstLooks is SweepLooks for the first hold: who has more than that gets room for a page
	// before the second.
	firstLooks = 256
	// idLooks is SweepLooks where only ids are wanted, which others work with under the same hold.
	idLooks = 1000
	// sweepAgain is how often Sweep has to look again at what has changed before the next hold does
	// all that is left: so much is folded of so many of the user's channels that Sweep would not
	// end.
	sweepRetries = 100
)

// limit is how much the n-th hold looks at.
func (s *Sweep) limit(n int) int {
	if s.ThreadsOf != "" {
		return cmp.Or(s.PerHold, idLooks)
	}
	if n <= 1 {
		return cmp.Or(s.PerHold, firstLooks)
	}
	return cmp.Or(s.PerHold, SweepLooks)
}

// unbounded reports whether this hold does all that is left.
func (s *Sweep) unbounded() bool { return s.retries >= sweepRetries }

// left is how much more this hold may look at.
func (s *Sweep) left() int {
	if s.unbounded() {
		return sweepBatch
	}
	return min(s.limit(s.Holds)-s.Looks, s.mem.left(s.Panel))
}

// Room makes room for what the next Step finds, before the lock is taken. Where it was not called
// Step does it. That is some times what the Step before has looked at: little for who has little
// and for a list that is only compared. Who has many threads may have few channels, and the other
// way round.
func (s *Sweep) Room() {
	if s.mem == nil {
		s.mem = sweepMemories.Get().(*sweepMemory)
		s.mem.clear()
	}
	m := s.mem
	n := min(s.limit(s.Holds+1), max(sweepFirst, roomGrows*s.Looks))
	moving := 0 // threads of the pair that was looked at in part may have to move
	for i := range m.pairs {
		if !m.pairs[i].done {
			moving = int(m.pairs[i].threads)
		}
	}
	pairs := min(n, max(sweepFirst, 2*len(m.pairs)))
	m.pairs = grow(m.pairs, pairs)
	m.spare = grow(m.spare[:0], len(m.pairs)+pairs)
	if s.Panel {
		m.threads = grow(m.threads, moving+min(n, max(sweepFirst, 2*len(m.threads))))
	}
	m.names = grow(m.names, idRoom+n*idBytes)
	if m.crowded {
		m.standings, m.crowded = grow(m.standings, n), false
	}
	s.roomy = true
}

// Aside puts a complete list aside for a later question: it lets go of the partition, which may be
// closed meanwhile, and returns how much memory the list takes. What EachChannel and EachThread
// lent is not valid any more. A list with much in it that does not stand any more is not worth
// that: it is freed, and the answer is 0. The next Step of a list that was put aside compares it,
// or begins anew where the partition is another.
func (s *Sweep) Aside() (bytes int) {
	m, threads := s.mem, 0
	for i := range m.pairs {
		threads += int(m.pairs[i].threads)
	}
	if s.p == nil || len(m.threads) > 2*threads+sweepFirst || len(m.standings) > 2*len(m.pairs)+sweepFirst || m.bytes() > sweepKept {
		s.Free()
		return 0
	}
	s.aside, s.p, s.roomy, s.retries, s.Looks = weak.Make(s.p), nil, false, 0, 0
	if !m.fitted {
		s.mem = m.fit()
		m.leave()
	}
	return s.mem.bytes()
}

// IsAside reports whether the list has let go of its partition.
func (s *Sweep) IsAside() bool { return s.p == nil }

// Free leaves the memory to the sweeps that come. What was listed is not valid any more.
func (s *Sweep) Free() {
	m := s.mem
	s.mem, s.p, s.roomy = nil, nil, false
	if m != nil {
		m.leave()
	}
}
