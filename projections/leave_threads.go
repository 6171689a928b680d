package projections

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/state"
)

// leaveThreads frees the thread rows that have no content any more, whose records the cut has
// removed, and the threads that nothing names then. A store that is opened again does not have them
// either.
func (p *Partition) leaveThreads(idle []uint32, t *turn) {
	var channels []uint32
	for _, ref := range idle {
		r := p.rules.Rows.At(ref)
		if r.Channel == 0 || !p.idleThreadRow(r) { // it left with its channel, or has content again
			continue
		}
		v := p.rules.VacantThreads[r.Channel]
		v.Rows++
		p.rules.VacantThreads[r.Channel] = v
		channels = append(channels, r.Channel)
	}
	slices.Sort(channels)
	for _, ci := range slices.Compact(channels) {
		v := p.rules.VacantThreads[ci]
		if !v.Due(func(limit int) bool { return len(p.rules.OthersOf(p.rules.Channels.At(ci))) <= limit }) {
			p.rules.VacantThreads[ci] = v
			continue
		}
		delete(p.rules.VacantThreads, ci)
		p.sweepThreads(p.rules.Channels.At(ci), t)
	}
}

// idleThreadRow reports whether a row belongs to a user in a thread and has no content.
func (p *Partition) idleThreadRow(r *state.Row) bool {
	return r.Flags&state.RowThread != 0 && p.rules.ExtraOfPair(r) == nil && r.Flags&state.RowListed == 0 && p.rules.FollowIdle(r, p.rules.FollowOf(r))
}

// sweepThreads removes the idle rows from the channel's three kinds of lists and frees them.
func (p *Partition) sweepThreads(c *state.Channel, t *turn) {
	var idle, threads, pairs []uint32
	isIdle := func(ref uint32) bool { return p.idleThreadRow(p.rules.Rows.At(ref)) }
	isIdleFollow := func(fi uint32) bool { return isIdle(p.rules.Follows.At(fi).Row) }
	for i := 0; i < len(p.rules.OthersOf(c)); t.spend(1) {
		ref := p.rules.OthersOf(c)[i]
		if !isIdle(ref) {
			i++
			continue
		}
		f := p.rules.FollowOf(p.rules.Rows.At(ref))
		idle, threads, pairs = append(idle, ref), append(threads, f.Thread), append(pairs, f.Pair)
		p.rules.UnlistOther(c, ref)
	}
	slices.Sort(threads)
	threads = slices.Compact(threads)
	for _, ti := range threads {
		p.unlink(&p.rules.Threads.At(ti).Follows, func(fi uint32) *uint32 { return &p.rules.Follows.At(fi).Next }, isIdleFollow, t)
	}
	slices.Sort(pairs)
	for _, pair := range slices.Compact(pairs) {
		r := p.rules.Rows.At(pair)
		p.unlink(&p.rules.EnsureRare(r).Scope, func(fi uint32) *uint32 { return &p.rules.Follows.At(fi).Sibling }, isIdleFollow, t)
		p.rules.Imply(r)
	}
	for _, ref := range idle {
		p.dropThreadRow(ref, p.rules.Rows.At(ref))
		t.spend(1)
	}
	p.sweepNames(c, threads, t)
}

// sweepNames frees those of the given threads that nothing names: they have no reply and no row.
func (p *Partition) sweepNames(c *state.Channel, threads []uint32, t *turn) {
	unnamed := func(ti uint32) bool {
		th := p.rules.Threads.At(ti)
		return th.First == 0 && th.Follows == 0 && th.Flags&state.ThreadListed == 0
	}
	if !slices.ContainsFunc(threads, unnamed) {
		return
	}
	p.unlink(&p.rules.ExtraOf(c).Threads, func(ti uint32) *uint32 { return &p.rules.Threads.At(ti).Next }, func(ti uint32) bool {
		_, of := slices.BinarySearch(threads, ti)
		if of = of && unnamed(ti); of {
			p.dropThread(ti)
		}
		return of
	}, t)
}

// unlink removes from the list at first every element for which gone returns true. next returns the
// link behind an element. gone may free the element.
func (p *Partition) unlink(first *uint32, next func(uint32) *uint32, gone func(uint32) bool, t *turn) {
	for at := *first; at != 0; at = *first {
		link := next(at)
		if after := *link; gone(at) {
			*first = after
		} else {
			first = link
		}
		t.spend(1)
	}
}

// fewRows reports whether the list of a user's rows that begins with ref has at most limit rows.
func (p *Partition) fewRows(ref uint32, limit int) bool {
	for ; ref != 0 && limit > 0; limit-- {
		ref = *p.nextOfUser(ref)
	}
	return ref == 0
}

// nextOfUser returns the link to the next row of the same user.
func (p *Partition) nextOfUser(ref uint32) *uint32 { return &p.rules.Rows.At(ref).NextUser }

// dropThreadRow frees the row of a user in a thread, and its follow. The row must be in no list any
// more, or only in lists that are no longer used.
func (p *Partition) dropThreadRow(ref uint32, r *state.Row) {
	p.rules.RemovePair(ref)
	p.rules.Follows.Release(p.rules.RareOf(r).Scope)
	p.rules.ForgetShown(r)
	p.rules.DropRare(r)
	p.rules.Rows.Release(ref)
}

func (p *Partition) dropThread(ti uint32) {
	th := p.rules.Threads.At(ti)
	id := p.rules.Blobs.Get(th.ID)
	p.rules.ThreadTable.Remove(state.ThreadHash(th.Channel, id), ti)
	p.rules.Blobs.Release(th.ID)
	p.rules.Threads.Drop(ti)
}
