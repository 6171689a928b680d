package projections

// UserRow is what Users' channels are listed with.
type UserRow struct {
	ChannelID []byte // borrowed, valid during the call
	Member    bool
	// Erased: a user_erased was folded, and since then the user has done nothing that is kept.
	Erased bool
}

// UserRows calls fn for every channel of this partition in which anything is known of userID, in no order, until fn returns
// false: channels that he is a member of, was a member of, posted to, was mentioned in, or read as a guest. Channels that
// were deleted are left out, as nothing is kept of them. It needs RLock. The error is that of a corrupt store.
func (p *Partition) UserRows(userID string, fn func(*UserRow) bool) error {
	u := p.userOf([]byte(userID))
	if u == 0 {
		return p.Err()
	}
	var e UserRow
	for ref := p.users.at(u).first; ref != 0; {
		r := p.rows.at(ref)
		ref = r.nextUser
		c := p.chans.at(r.ch)
		if r.flags&rowThread != 0 || c.flags&chDeleted != 0 || c.lastM == 0 {
			continue
		}
		e = UserRow{ChannelID: p.blobs.get(c.id), Member: r.flags&rowMember != 0, Erased: p.nothingLeft(r)}
		if !fn(&e) {
			break
		}
	}
	return p.Err()
}

// nothingLeft reports whether the row of an erased user, and those of his in the channel's threads, are as the erasure left
// them.
func (p *Partition) nothingLeft(r *row) bool {
	if !p.asErased(r) || r.flags&rowMuted != 0 {
		return false
	}
	for fi := r.scope; fi != 0; {
		f := p.follows.at(fi)
		fi = f.sibling
		if f.flags != foUnfollowed || !p.asErased(p.rows.at(f.row)) {
			return false
		}
	}
	return true
}

func (p *Partition) asErased(r *row) bool {
	if !r.erased() || r.ptr != 0 || r.marks != 0 || r.public != 0 {
		return false
	}
	x := p.excOf(r)
	return x == nil || len(x.held) == 0 && x.singles.max() == 0
}
