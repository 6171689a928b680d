package state

import "unsafe"

// maxResting is the largest number of rows with which a channel leaves memory. Loading more would
// take longer than a lock may be held.
const maxResting = 4096

// MayRest reports whether a channel can leave memory without a change to anything: the store has
// all of it, nothing of it is to be published, and it cannot change before an event names it. It
// assumes that every cut was applied, and that everything was drained.
//
// With Settings.TrimLog no channel leaves: its log may have to be trimmed while it is cold.
func (p *State) MayRest(ci uint32, c *Channel) bool {
	if p.Settings.TrimLog || c.ID == 0 || c.LastM == 0 || c.Flags&ChannelDeleted != 0 || c.Pending != 0 || c.Ords > maxResting ||
		c.Dirty&(DirtyChannel|DirtyPage0|dirtyListed) != 0 || c.Dirty&DirtyStored == 0 || c.NewestOutReceipt != 0 || p.NewestReceiptEntry(ci, c) != 0 {
		return false
	}
	if x := p.ExtraOf(c); x != nil {
		if len(x.Wait.IDs)+len(x.Wait.Seqs)+len(x.Wait.Times) > 0 || x.SizesDirty {
			return false
		}
		for ti := x.Threads; ti != 0; ti = p.Threads.At(ti).Next {
			if _, dirty := p.DirtyThreads[ti]; dirty || p.Threads.At(ti).Flags&ThreadListed != 0 {
				return false
			}
		}
	}
	rows := 0
	for ref := c.Rows; ref != 0; ref = p.Rows.At(ref).NextRow {
		if rows++; rows > maxResting || !p.rowMayRest(ref, p.Rows.At(ref)) {
			return false
		}
	}
	return true
}

func (p *State) rowMayRest(ref uint32, r *Row) bool {
	if r.OutRow != 0 || r.Flags&(RowChanged|RowCheck) != 0 {
		return false
	}
	dirty := p.DirtyGuests
	if r.Flags&RowThread != 0 {
		dirty = p.DirtyFollows
	}
	if r.Ord == NoOrdinal && len(dirty) > 0 {
		if _, is := dirty[ref]; is {
			return false
		}
	}
	if r.Extra == 0 {
		return true
	}
	if _, is := p.DirtyPairExtras[ref]; is {
		return false
	}
	x := p.PairExtras.At(r.Extra)
	return len(x.Unsettled)+len(x.Floors)+len(x.OpenReads)+len(x.WaitingDeliveries) == 0
}

// Leaves notes that a channel leaves memory, and returns its index in the set of cold channels that
// readers know, or 0 if readers do not know it.
func (p *State) Leaves(id []byte, c *Channel) uint32 {
	if c.LastM != 0 && c.Flags&ChannelDeleted == 0 {
		return p.Cold.Leaves(id, c.Flags&ChannelLarge != 0, c.LastM)
	}
	p.Cold.Unknown(id)
	ref := p.Cold.Of(id)
	if ref == 0 {
		return 0
	}
	for row := c.Rows; row != 0; row = p.Rows.At(row).NextRow {
		if r := p.Rows.At(row); r.Flags&RowColdListed != 0 {
			p.Cold.Unlist(&p.Users.At(r.User).Cold, ref)
			r.Flags &^= RowColdListed
		}
	}
	p.Cold.Drop(ref)
	return 0
}

// RowLeaves notes that the row of a pair leaves memory with its channel. It leaves out a row without
// records, which will not come back.
func (p *State) RowLeaves(ref uint32, r *Row) {
	if r.Ord == NoOrdinal && r.Flags&RowStored == 0 && r.Extra == 0 && r.Scope == 0 {
		return
	}
	p.Cold.RowLeaves(ref, r.LastR, r.LastD)
	if r.Flags&RowColdListed == 0 {
		p.Cold.List(&p.Users.At(r.User).Cold, ref)
	}
}

// Fixed is the memory that stays when channels leave: of users and of cold channels, in bytes.
func (p *State) Fixed() int64 {
	return int64(p.Users.Len())*int64(unsafe.Sizeof(User{})) + p.UserTable.Bytes() + p.Cold.Bytes() + p.Cold.IDBytes()
}

// InUse estimates the memory that would be free if every channel left, in bytes.
func (p *State) InUse() int64 {
	const (
		chanBytes   = int64(unsafe.Sizeof(Channel{})) + 12 // with its place in ChannelTable
		rowBytes    = int64(unsafe.Sizeof(Row{})) + 12
		threadBytes = int64(unsafe.Sizeof(Thread{})) + 128
		followBytes = int64(unsafe.Sizeof(Follow{}))
		listBytes   = 160 // a MemberList with 20 members
		extraBytes  = 512
	)
	return int64(p.Channels.Len())*chanBytes + int64(p.Rows.Len()-p.VacantRows)*rowBytes + int64(p.Follows.Len())*followBytes +
		int64(p.Threads.Len())*threadBytes + int64(p.MemberLists.Len())*listBytes + int64(p.ChannelExtras.Len()+p.PairExtras.Len())*extraBytes +
		p.Blobs.Bytes() - p.Cold.IDBytes()
}
