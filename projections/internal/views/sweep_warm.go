package views

import "github.com/tidemark/tidemark/projections/internal/state"

// A sweep is bound by cache misses, each depending on the last: row to channel, follow to thread
// and to row, those to ids and sets. So a batch of entries is touched before the first is
// evaluated, one kind of memory after the other, and their misses overlap. Like package
// warming, this changes nothing.

// sweepBatch is how many rows or threads are touched at once. ThreadsWarmed is how many one call of
// Views.WarmThreads takes.
const (
	sweepBatch    = 32
	ThreadsWarmed = sweepBatch
)

// warmRows touches the rows of a user from ref on, and the data of their channels that check needs;
// if all is set, also the data that look needs.
func (s *Sweep) warmRows(p *Queries, ref uint32, all bool) {
	var batch [sweepBatch]uint32
	var rows [sweepBatch]*state.Row
	n := 0
	for ; ref != 0 && n < sweepBatch; n++ {
		r := p.rules.Rows.At(ref)
		batch[n], rows[n], ref = r.Channel, r, s.after(r)
	}
	for _, r := range rows[:n] {
		s.warmed += uint64(p.rules.RareOf(r).Scope)
	}
	for _, ci := range batch[:n] {
		s.warmed += uint64(p.rules.Channels.At(ci).LastM)
	}
	if !all {
		return
	}
	for _, ci := range batch[:n] {
		c := p.rules.Channels.At(ci)
		s.warmed += uint64(c.HeadSeq) + uint64(c.HeadPos) + uint64(p.rules.Blobs.First(c.ID))
		if x := p.rules.ExtraOf(c); x != nil {
			s.warmed += x.Deleted.Peek()
		}
	}
}

// after returns the row to visit after r.
func (s *Sweep) after(r *state.Row) uint32 {
	if s.ThreadsOf != "" {
		return 0
	}
	return r.NextUser
}

// warmThreads touches the threads of a pair from a follow on, as many as fit in batch, and returns
// the follows.
func (s *Sweep) warmThreads(p *Queries, fi uint32, batch []uint32) []uint32 {
	n := 0
	for ; fi != 0 && n < len(batch); n++ {
		batch[n], fi = fi, p.rules.Follows.At(fi).Sibling
	}
	s.warmed += p.warmFollows(batch[:n])
	return batch[:n]
}

// warmFollows touches the memory that ThreadScopeOf, ThreadCounts and TouchedAt read for these
// follows, at most sweepBatch of them. The sum keeps the compiler from removing the loads.
func (p *Queries) warmFollows(follows []uint32) (sum uint64) {
	var threads [sweepBatch]*state.Thread
	var extras [sweepBatch]*state.PairExtra
	for i, fi := range follows {
		f := p.rules.Follows.At(fi)
		t, r := p.rules.Threads.At(f.Thread), p.rules.Rows.At(f.Row)
		threads[i], extras[i] = t, p.rules.ExtraOfPair(r)
		sum += uint64(t.ID) + t.Live.Peek() + t.Casts.Peek() + t.Alls.Peek() + uint64(t.Replied.Seq.Load()) +
			uint64(r.Pointer) + uint64(p.rules.LastR(r))
	}
	for i, t := range threads[:len(follows)] {
		sum += uint64(p.rules.Blobs.First(t.ID)) + t.Live.PeekLast()
		if x := extras[i]; x != nil {
			sum += x.Peek()
		}
	}
	for _, x := range extras[:len(follows)] {
		if x != nil {
			sum += x.Mentions.PeekLast()
		}
	}
	return sum
}
