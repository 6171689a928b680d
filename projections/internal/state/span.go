package state

// A recipient of a message is who was a member when it was posted (DESIGN §4.5). Nearly every
// member joined once, at their baseline, and never left: then the row says it all. Else the
// memberships that are over are kept, and one that began beyond the baseline, because the history
// counts.

// Membership is one of them: of messages after from, up to to.
type Membership struct{ From, To uint32 }

// stillMember as a membership's end says that it is not over.
const stillMember = ^uint32(0)

// JoinedAt notes that the row's user joined when the channel's head was at.
func (p *State) JoinedAt(ref uint32, r *Row, at uint32) {
	if at != r.Baseline {
		x := p.EnsurePairExtra(r)
		x.Spans = append(x.Spans, Membership{at, stillMember})
		p.TouchPairExtra(ref, r)
	}
}

// LeftAt notes that the row's user left when the channel's head was at; the row is as before.
func (p *State) LeftAt(ref uint32, r *Row, at uint32) {
	x := p.EnsurePairExtra(r)
	from := r.Baseline
	if n := len(x.Spans); n > 0 && x.Spans[n-1].To == stillMember {
		from = x.Spans[n-1].From
		x.Spans = x.Spans[:n-1]
	}
	if from < at { // else nothing was posted meanwhile
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

// FirstMember is the seq after which the user's first membership began; false if they never were a
// member while anything was posted or could still be.
func (p *State) FirstMember(r *Row) (uint32, bool) {
	if x := p.ExtraOfPair(r); x != nil && len(x.Spans) > 0 {
		return x.Spans[0].From, true
	}
	return r.Baseline, r.Flags&RowMember != 0
}
