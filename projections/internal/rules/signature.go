package rules

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Signature is a hash of all that a delta of the pair says, but for the stamp and the text of the
// latest message. Equal signatures before and after an event mean that there is nothing to tell.
func (p *Fold) Signature(c *state.Channel, r *state.Row) uint64 {
	if r.Flags&state.RowThread != 0 {
		return p.ThreadSignature(c, r)
	}
	s := p.ScopeOf(c, r)
	b := p.SigBuf[:0]
	put := func(v ...uint32) {
		for _, v := range v {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	if s.Pointer == 0 {
		s.At = 0 // not told
	}
	put(s.Pointer, uint32(s.At), uint32(s.At>>32), r.Marks)
	if said := p.ExtraSaid(r); said == nil {
		put(uint32(r.Flags & (state.RowMember | state.RowMuted)))
	} else {
		b = p.appendSaid(b, c, r, said)
	}
	if r.Flags&state.RowMember != 0 {
		n := p.CountsOf(c, r, &s)
		put(p.OfflineUnread(c, r, &s))
		if c.Flags&state.ChannelLarge == 0 {
			put(n.Unread, n.Mentions, n.First, c.Latest)
			n.appendMentions(put)
		} else {
			above := max(s.Pointer, r.Baseline)
			put(^uint32(0), p.PosAt(c, above))
			put(p.ExcludedOf(c, &s, above)...)
			put(^uint32(0))
			put(p.MentionedOf(c, r, above)...)
			if p.AskOf(c, r, &s, above) {
				put(^uint32(0))
			}
		}
	}
	p.SigBuf = b
	return xxh3.Hash(b)
}

// appendSaid adds to a signature what a delta tells of what a user says. What does not stand any
// more adds nothing: it may be taken off unseen.
func (p *Fold) appendSaid(b []byte, c *state.Channel, r *state.Row, said *state.Said) []byte {
	const flagged, levels, markers, filed = 1, 2, 4, 8
	parts, at := byte(0), len(b)+1
	b = append(b, r.Flags&(state.RowMember|state.RowMuted), 0, 0, 0) // as without a Said, then which parts follow
	if p.Flagged(c, r, said) {
		parts |= flagged
	}
	if !said.PlainLevel() {
		parts |= levels
		b = append(b, byte(said.Lasting), byte(said.Timed))
		b = binary.LittleEndian.AppendUint64(wire.AppendBool(b, said.IgnoreAll), uint64(said.Until))
	}
	if !said.PlainRest() {
		parts |= markers
		b = binary.LittleEndian.AppendUint32(b, said.Line.Seq)
		b = append(append(b, byte(len(said.Line.ID))), said.Line.ID...)
		for _, l := range said.Labels {
			b = append(append(b, byte(len(l))), l...)
		}
		b = append(b, 0)
	}
	if f := p.Filed(c, r, said); f.Is {
		parts |= filed
		if r.Flags&state.RowMember == 0 {
			f.Pos = 0 // not told
		}
		b = binary.LittleEndian.AppendUint32(wire.AppendBool(b, f.Keep), f.Pos)
	}
	b[at] = parts
	return b
}

// ThreadSignature is signature for a thread's row; 0 where there is nothing to tell.
func (p *Fold) ThreadSignature(c *state.Channel, r *state.Row) uint64 {
	if c.Flags&state.ChannelDeleted != 0 {
		return 0
	}
	s := p.ThreadScopeOf(c, r)
	shown := s.Follows && s.Pair.Flags&state.RowMember != 0
	if !s.Chosen && s.Pointer == 0 && r.Marks == 0 && s.Follow.Flags&state.FollowStopped == 0 {
		return 0
	}
	b := p.SigBuf[:0]
	put := func(v ...uint32) {
		for _, v := range v {
			b = append(b, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
	}
	if s.Pointer == 0 {
		s.At = 0
	}
	put(s.Pointer, uint32(s.At), uint32(s.At>>32), r.Marks)
	if s.Chosen {
		put(2) // also where it is not shown: folded in another order it may have been
	}
	if s.Follow.Flags&state.FollowStopped != 0 {
		put(3) // also where the user did not follow: in another order they may have, and readers were told
	}
	if shown {
		n := p.ThreadCounts(r, &s)
		touched := p.TouchedAt(c, &s)
		put(1, n.Unread, n.Mentions, n.First, s.Newest, uint32(touched), uint32(touched>>32))
		n.appendMentions(put)
	}
	p.SigBuf = b
	return xxh3.Hash(b)
}
