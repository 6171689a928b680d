package projections

// Reader is how far a member read publicly; the zero Ref if nowhere.
type Reader struct {
	UserID  string
	Message Ref
	At      int64 // Unix milliseconds; meaningful only if Message.Seq > 0
}

// ReadersView is the read state of a room (DESIGN §9, GetReaders): a page of its members, in the order in which they first
// joined. Next is as in ReceiptsView.
type ReadersView struct {
	List []Reader
	Next uint32
}

// Readers is a page of a channel's members with how far each read publicly, own posts included; false as in View. RLock is
// held.
func (p *Partition) Readers(channelID string, from uint32, limit int) (v ReadersView, ok bool) {
	_, c, ok := p.known(channelID)
	if !ok {
		return v, false
	}
	for ord := from; ord < c.ords; ord++ {
		r := p.rows.at(p.member(c, ord))
		if r.flags&rowMember == 0 || r.erased() {
			continue
		}
		if len(v.List) == limit {
			v.Next = ord
			break
		}
		x := Reader{UserID: string(p.userID(r.user))}
		seq, at, _ := p.furthest(c, r)
		if own := p.ownLast(r); own > 0 && own >= seq {
			seq, at = own, r.ownAt
		}
		if seq > 0 {
			x.Message, x.At = Ref{p.messageID(c, seq), seq}, at
		}
		v.List = append(v.List, x)
	}
	return v, true
}
