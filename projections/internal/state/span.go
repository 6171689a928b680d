package state

// The recipients of a message are the members at the time of its post (DESIGN §4.5). Nearly every
// member joined once, at their baseline, and never left: then the row is enough. Otherwise the
// extra keeps their past memberships, and a current one that began after the baseline because the
// history counts.

// Membership covers the messages after From, up to To.
type Membership struct{ From, To uint32 }

// stillMember as Membership.To means that the membership has not ended.
const stillMember = ^uint32(0)

// JoinedAt records that the row's user joined when the channel's head was at.
func (p *State) JoinedAt(ref uint32, r *Row, at uint32) {
	if at != r.Baseline {
		x := p.EnsurePairExtra(r)
		x.Spans = append(x.Spans, Membership{at, stillMember})
		p.TouchPairExtra(ref, r)
	}
}

// LeftAt records that the row's user left when the channel's head was at. It does not change the
// row.
func (p *State) LeftAt(ref uint32, r *Row, at uint32) {
	x := p.EnsurePairExtra(r)
	from := r.Baseline
	if n := len(x.Spans); n > 0 && x.Spans[n-1].To == stillMember {
		from = x.Spans[n-1].From
		x.Spans = x.Spans[:n-1]
	}
	if from < at { // otherwise nothing was posted meanwhile
		x.Spans = append(x.Spans, Membership{from, at})
	}
	p.TouchPairExtra(ref, r)
}

// MemberAt reports whether the row's user was a member when message seq was posted.
func (p *State) MemberAt(r *Row, seq uint32) bool {
	fromBaseline := r.Flags&RowMember != 0
	if x := p.ExtraOfPair(r); x != nil {
		for _, m := range x.Spans {
			if m.From < seq && seq <= m.To {
				return true
			}
			fromBaseline = fromBaseline && m.To != stillMember
		}
	}
	return fromBaseline && r.Baseline < seq
}

// FirstMember returns the seq after which the user's first membership began. It returns false if no
// message was or can still be posted during a membership of the user.
func (p *State) FirstMember(r *Row) (uint32, bool) {
	if x := p.ExtraOfPair(r); x != nil && len(x.Spans) > 0 {
		return x.Spans[0].From, true
	}
	return r.Baseline, r.Flags&RowMember != 0
}
