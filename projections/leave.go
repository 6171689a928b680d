package projections

import (
	"slices"

	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// After a cut has stored the rest of it, state that is gone leaves memory. So a partition that has
// run for long uses as much memory as one that was just opened. These leave:
//
//   - a deleted channel, of which the store keeps only a record of the deletion, with its rows,
//     threads and lists;
//   - a channel that no record of chat.messages has named, once everything that waited for it has
//     lapsed: it is in the store only until an event names it (cold.go);
//   - channels that no event has named for long, while memory is short (rest.go);
//   - the row of a user in a thread once it has no content, and a thread that nothing else names;
//   - a user without rows.
//
// All of this runs on the goroutine that folds, and takes Lock in turns.

// forgets reports whether Republish can no longer find something that was published, because it is
// deleted or leaves memory with this cut.
func (k *cutting) forgets() bool {
	return len(k.idle)+len(k.unknown) > 0 || slices.ContainsFunc(k.rules.Leaving, func(ci uint32) bool {
		return k.rules.Channels.At(ci).Flags&state.ChannelDeleted != 0
	})
}

// leave removes deleted and idle state from memory. The cut must be encoded and visible to readers.
func (p *Partition) leave(k *cutting) {
	slices.Sort(k.unknown)
	written := slices.Compact(k.unknown)
	gone := append([]uint32(nil), p.rules.Leaving...)
	for _, ci := range p.rules.Unannounced {
		if _, found := slices.BinarySearch(written, ci); !found && p.evictable(p.rules.Channels.At(ci)) {
			gone = append(gone, ci)
		}
	}
	p.rules.Leaving, p.rules.Unannounced = p.rules.Leaving[:0], append(p.rules.Unannounced[:0], written...)
	if len(gone)+len(k.idle) == 0 {
		return
	}
	slices.Sort(gone)
	gone = slices.Compact(gone)
	t := &turn{p: p, cause: "release"}
	t.begin()
	defer t.end()
	for _, ci := range gone {
		p.evict(ci, t)
	}
	p.leaveThreads(k.idle, t)
	p.leaveUsers(t)
	p.trim(t)
}

// evictable reports whether a channel cannot change before an event names it. That requires that no
// record of chat.messages has named it.
func (p *Partition) evictable(c *state.Channel) bool {
	if c.ID == 0 || c.LastM != 0 || c.Ords != 0 {
		return false
	}
	for _, r := range p.rules.RowsOf(c) {
		if x := p.rules.ExtraOfPair(r); x != nil && !x.OnlySettings() {
			return false
		}
	}
	return true
}

// evict takes a channel out of memory. A channel that becomes cold leaves in one hold of Lock, so
// readers find all of it, either in memory or as a cold channel. That hold is short, because such a
// channel has at most loading.MaxResting rows.
func (p *Partition) evict(ci uint32, t *turn) {
	c := p.rules.Channels.At(ci)
	id := p.rules.Blobs.Get(c.ID)
	delete(p.rules.VacantThreads, ci)
	p.rules.ChannelTable.Remove(state.IDHash(id), ci)
	cold, unspent := p.noteLeaves(id, c), 1
	spend := func() {
		if unspent++; cold == 0 {
			t.spend(unspent)
			unspent = 0
		}
	}
	for ref := p.rules.TakeRow(c); ref != 0; ref = p.rules.TakeRow(c) {
		r := p.rules.Rows.At(ref)
		if r.Flags&state.RowThread != 0 {
			p.dropThreadRow(ref, r)
		} else {
			if cold != 0 {
				p.noteRowLeaves(cold, r)
			}
			p.vacate(ref, r)
		}
		spend()
	}
	if x := p.rules.ExtraOf(c); x != nil {
		for ti := x.Threads; ti != 0; {
			this := ti
			ti = p.rules.Threads.At(ti).Next
			p.dropThread(this)
			spend()
		}
		p.rules.ChannelExtras.Drop(c.Extra)
	}
	if cold != 0 {
		if c.More != 0 {
			p.rules.MemberLists.Drop(c.More)
		}
		p.rules.Blobs.Release(c.MaxID)
		for i := range c.Tail {
			p.rules.Blobs.Release(c.Tail[i])
		}
	}
	p.rules.Blobs.Release(c.ID)
	p.rules.Channels.Release(ci)
	t.spend(unspent)
}

// vacate empties the row of a pair. For now the row stays in its user's list.
func (p *Partition) vacate(ref uint32, r *state.Row) {
	p.rules.RemovePair(ref)
	p.rules.ForgetShown(r)
	p.rules.DropRare(r) // the store has what the user set in this channel
	*r = state.Row{User: r.User, NextUser: r.NextUser}
	p.rules.VacantRows++
	p.rules.Vacated = append(p.rules.Vacated, r.User)
}

// leaveSome calls leaveUsers if many rows were vacated, so that its lists stay short.
func (p *Partition) leaveSome(t *turn) {
	const many = 4096
	if len(p.rules.Vacated) >= many {
		p.leaveUsers(t)
	}
}

// leaveUsers removes vacated rows from the lists of their users, and drops users without rows.
func (p *Partition) leaveUsers(t *turn) {
	list := p.rules.Vacated
	slices.Sort(list)
	for i, warm := 0, 0; i < len(list); {
		if i >= warm {
			warm = min(i+loading.UsersAtOnce, len(list))
			loading.WarmUsers(&p.rules.State, list[i:warm])
		}
		u := list[i]
		v := p.rules.VacantUsers[u]
		for ; i < len(list) && list[i] == u; i++ {
			v.Rows++
		}
		if !v.Due(func(limit int) bool { return p.fewRows(p.rules.Users.At(u).First, limit) }) {
			p.rules.VacantUsers[u] = v
			continue
		}
		delete(p.rules.VacantUsers, u)
		p.unlink(&p.rules.Users.At(u).First, p.nextOfUser, func(ref uint32) bool {
			if p.rules.Rows.At(ref).Channel != 0 {
				return false
			}
			p.rules.Rows.Release(ref)
			p.rules.VacantRows--
			return true
		}, t)
		if p.rules.Users.At(u).First == 0 {
			hash := state.IDHash(p.rules.UserID(u))
			if p.rules.Cold.MayKnow(hash) {
				p.rules.UsersInBoth--
			}
			p.rules.UserTable.Remove(hash, u)
			p.rules.Blobs.Release(p.rules.Users.At(u).Long)
			p.rules.Users.Release(u)
		}
	}
	p.rules.Vacated = list[:0]
}

// trim frees unused memory. It rebuilds hash tables too, each in one hold of the lock.
func (p *Partition) trim(t *turn) {
	p.rules.Warmth.Pairs = p.rules.Warmth.Pairs[:0] // its pairs may refer to freed rows
	if p.rules.Channels.Idle() {
		p.rules.Channels.Trim()
		t.spend(turnWork)
	}
	if p.rules.Rows.Idle() || p.rules.Rares.Idle() {
		p.rules.Rows.Trim()
		p.rules.Rares.Trim()
		t.spend(turnWork)
	}
	if p.rules.Users.Idle() {
		p.rules.Users.Trim()
		t.spend(turnWork)
	}
	if p.rules.Follows.Idle() {
		p.rules.Follows.Trim()
		t.spend(turnWork)
	}
	if p.rules.Blobs.Idle() {
		p.rules.Blobs.Trim()
		t.spend(turnWork)
	}
	if cap(p.rules.Lapses) > 1024+4*len(p.rules.Lapses) {
		p.rules.Lapses = slices.Clone(p.rules.Lapses)
	}
	p.rules.Threads.Trim()
	p.rules.MemberLists.Trim()
	p.rules.OtherRows.Trim()
	p.rules.ChannelExtras.Trim()
	p.rules.PairExtras.Trim()
	for _, tab := range []interface{ Trim() }{&p.rules.ChannelTable, &p.rules.PairTable, &p.rules.UserTable, &p.rules.ThreadTable} {
		tab.Trim()
		t.spend(turnWork)
	}
}
