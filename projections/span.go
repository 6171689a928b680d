package projections

import "encoding/binary"

// A recipient of a message is who was a member when it was posted (DESIGN §4.5). Nearly every member joined once, at his
// baseline, and never left: then the row says it all. Else the memberships that are over are kept, and one that began
// beyond the baseline, because the history counts.

// membership is one of them: of messages after from, up to to.
type membership struct{ from, to uint32 }

// stillMember as a membership's end says that it is not over.
const stillMember = ^uint32(0)

// joinedAt notes that the row's user joined when the channel's head was at.
func (p *Partition) joinedAt(ref uint32, r *row, at uint32) {
	if at != r.base {
		x := p.ensureExc(r)
		x.spans = append(x.spans, membership{at, stillMember})
		p.touchExc(ref, r)
	}
}

// leftAt notes that the row's user left when the channel's head was at; the row is as before.
func (p *Partition) leftAt(ref uint32, r *row, at uint32) {
	x := p.ensureExc(r)
	from := r.base
	if n := len(x.spans); n > 0 && x.spans[n-1].to == stillMember {
		from = x.spans[n-1].from
		x.spans = x.spans[:n-1]
	}
	if from < at { // else nothing was posted meanwhile
		x.spans = append(x.spans, membership{from, at})
	}
	p.touchExc(ref, r)
}

// memberAt reports whether the row's user was a member when message seq was posted.
func (p *Partition) memberAt(r *row, seq uint32) bool {
	base := r.flags&rowMember != 0
	if x := p.excOf(r); x != nil {
		for _, m := range x.spans {
			if m.from < seq && seq <= m.to {
				return true
			}
			base = base && m.to != stillMember
		}
	}
	return base && r.base < seq
}

// firstMember is the seq after which the user's first membership began; false if he never was a member while anything
// was posted or could still be.
func (p *Partition) firstMember(r *row) (uint32, bool) {
	if x := p.excOf(r); x != nil && len(x.spans) > 0 {
		return x.spans[0].from, true
	}
	return r.base, r.flags&rowMember != 0
}

func appendSpans(b []byte, spans []membership) []byte {
	for _, m := range spans {
		b = binary.AppendUvarint(b, uint64(m.from))
		b = binary.AppendUvarint(b, uint64(m.to))
	}
	return b
}

func (r *reader) spans() (out []membership) {
	for len(r.b) > 0 && r.err == nil {
		out = append(out, membership{r.u32(), r.u32()})
	}
	return out
}
