package views

import (
	"cmp"
	"weak"
)

const (
	// SweepLooks is how many channels and threads Sweep evaluates in one hold of the lock. Entries
	// that it has evaluated before it only compares.
	SweepLooks = 1500
	// firstLooks is the limit of the first hold. A user with more gets memory for a page before the
	// second.
	firstLooks = 256
	// idLooks is the limit when only ids are listed, which others process in the same hold.
	idLooks = 1000
	// sweepRetries is how often Sweep evaluates changed entries again before the next hold does all
	// that is left. With a high rate of changes to the user's channels, Sweep would otherwise not
	// end.
	sweepRetries = 100
)

// limit returns how many entries the n-th hold may evaluate.
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

// left returns how many more entries this hold may evaluate.
func (s *Sweep) left() int {
	if s.unbounded() {
		return sweepBatch
	}
	return min(s.limit(s.Holds)-s.Looks, s.mem.left(s.Panel))
}

// Grow allocates memory for the results of the next Step, before the lock is taken. If it was not
// called, Step calls it. The size is a multiple of what the last Step evaluated: small for users
// with little, and for a list that is only compared. It is separate for channels and threads, since
// a user with many threads may have few channels.
func (s *Sweep) Grow() {
	if s.mem == nil {
		s.mem = sweepMemories.Get().(*sweepMemory)
		s.mem.clear()
	}
	m := s.mem
	n := min(s.limit(s.Holds+1), max(sweepFirst, memoryGrowth*s.Looks))
	moving := 0 // the threads of a partly evaluated pair may have to move
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
	m.names = grow(m.names, maxIDBytes+n*idBytes)
	if m.crowded {
		m.standings, m.crowded = grow(m.standings, n), false
	}
	s.grown = true
}

// Aside puts a complete list aside for a later query, and returns how much memory the list takes.
// It drops its reference to the partition, which may be closed meanwhile. Data from EachChannel and
// EachThread becomes invalid. A list with many outdated entries is not worth keeping: Aside frees
// it and returns 0. The next Step compares the list, or starts again if the partition is another.
func (s *Sweep) Aside() (bytes int) {
	m, threads := s.mem, 0
	for i := range m.pairs {
		threads += int(m.pairs[i].threads)
	}
	if s.p == nil || len(m.threads) > 2*threads+sweepFirst || len(m.standings) > 2*len(m.pairs)+sweepFirst || m.bytes() > sweepKept {
		s.Free()
		return 0
	}
	s.aside, s.p, s.grown, s.retries, s.Looks = weak.Make(s.p), nil, false, 0, 0
	if !m.fitted {
		s.mem = m.fit()
		m.recycle()
	}
	return s.mem.bytes()
}

// IsAside reports whether the list has no reference to its partition.
func (s *Sweep) IsAside() bool { return s.p == nil }

// Free makes the memory available to later sweeps. Data from the list becomes invalid.
func (s *Sweep) Free() {
	m := s.mem
	s.mem, s.p, s.grown = nil, nil, false
	if m != nil {
		m.recycle()
	}
}
