package projections

import (
	"github.com/tidemark/tidemark/projections/internal/loading"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// mayRest reports whether a channel can leave memory without a change to anything: the store has
// all of it, nothing of it is to be published, and it cannot change before an event names it. It
// assumes that every cut was applied, and that everything was drained.
func (p *Partition) mayRest(ci uint32, c *state.Channel) bool {
	if c.ID == 0 || c.LastM == 0 || c.Flags&state.ChannelDeleted != 0 || c.Pending != 0 || c.Ords > loading.MaxResting ||
		c.Dirty&(state.DirtyChannel|state.DirtyPage0|state.DirtyListed) != 0 || c.Dirty&state.DirtyStored == 0 || c.OutReceipts != 0 || p.rules.NewestReceiptEntry(ci, c) != 0 ||
		p.rules.LogWaits(c, p.rules.EndedAt(ci)) {
		return false
	}
	if x := p.rules.ExtraOf(c); x != nil {
		if len(x.Wait.IDs)+len(x.Wait.Seqs)+len(x.Wait.Times) > 0 || x.SizesDirty {
			return false
		}
		for ti := x.Threads; ti != 0; ti = p.rules.Threads.At(ti).Next {
			if _, dirty := p.rules.DirtyThreads[ti]; dirty || p.rules.Threads.At(ti).Flags&state.ThreadListed != 0 {
				return false
			}
		}
	}
	loading.WarmRows(&p.rules.State, ci, c)
	rows := 0
	for ref, r := range p.rules.RowsOf(c) {
		if rows++; rows > loading.MaxResting || !p.rowmayRest(ref, r) {
			return false
		}
	}
	return true
}

func (p *Partition) rowmayRest(ref uint32, r *state.Row) bool {
	if r.Flags&(state.RowListed|state.RowChanged|state.RowCheck) != 0 {
		return false
	}
	dirty := p.rules.DirtyGuests
	if r.Flags&state.RowThread != 0 {
		dirty = p.rules.DirtyFollows
	}
	if r.Ord() == state.NoOrdinal && len(dirty) > 0 {
		if _, is := dirty[ref]; is {
			return false
		}
	}
	x := p.rules.ExtraOfPair(r)
	if x == nil {
		return true
	}
	if _, is := p.rules.DirtyPairExtras[ref]; is {
		return false
	}
	return len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) == 0
}

// noteLeaves notes that a channel leaves memory, and returns its index in the set of cold channels that
// readers know, or 0 if readers do not know it.
func (p *Partition) noteLeaves(id []byte, c *state.Channel) uint32 {
	if c.LastM != 0 && c.Flags&state.ChannelDeleted == 0 {
		return p.rules.Cold.Leaves(id, c.Flags&state.ChannelLarge != 0, c.Extra == 0, c.LastM)
	}
	p.rules.Cold.Unknown(id)
	ref := p.rules.Cold.Of(id)
	if ref == 0 {
		return 0
	}
	for _, r := range p.rules.RowsOf(c) {
		if r.Flags&state.RowColdListed != 0 {
			if p.rules.Cold.Unlist(state.IDHash(p.rules.UserID(r.User)), ref) {
				p.rules.UsersInBoth--
			}
			r.Flags &^= state.RowColdListed
		}
	}
	p.rules.Cold.Drop(ref)
	return 0
}

// noteRowLeaves notes that the row of a pair leaves memory with its channel. It leaves out a row without
// records, which will not come back.
func (p *Partition) noteRowLeaves(ref uint32, r *state.Row) {
	x := p.rules.RareOf(r)
	if r.Ord() == state.NoOrdinal && r.Flags&state.RowStored == 0 && x.Extra == 0 && x.Scope == 0 {
		return
	}
	p.rules.Cold.RowLeaves(ref, r.Ord() != state.NoOrdinal && x.Extra == 0, p.rules.LastR(r), x.LastD)
	if r.Flags&state.RowColdListed == 0 {
		if p.rules.Cold.List(state.IDHash(p.rules.UserID(r.User)), ref) {
			p.rules.UsersInBoth++
		}
	}
}
