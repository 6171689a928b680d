package rules

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// Signature returns a hash of the pair's delta, without its stamp and the text of the latest
// message. If an event leaves it equal, there is nothing to publish.
func (p *Fold) Signature(c *state.Channel, r *state.Row) uint64 {
	if r.Flags&state.RowThread != 0 {
		return p.ThreadSignature(c, r)
	}
	s := p.ScopeOf(c, r)
	b := s.appendPointer(p.SigBuf[:0], p.RareOf(r).Marks)
	if settings := p.ExtraSettings(r); settings == nil {
		b = appendNumbers(b, uint32(r.Flags&(state.RowMember|state.RowMuted)))
	} else {
		b = p.appendSettings(b, c, r, settings)
	}
	if r.Flags&state.RowMember != 0 {
		n := p.CountsOf(c, r, &s)
		b = appendNumbers(b, p.OfflineUnread(c, r, &s))
		if c.Flags&state.ChannelLarge == 0 {
			b = appendNumbers(b, n.Unread, n.Mentions, n.First, c.Latest)
			b = n.appendMentions(b)
		} else {
			above := max(s.Pointer, r.Baseline)
			b = appendNumbers(b, ^uint32(0), p.PosAt(c, above))
			b = appendNumbers(b, p.ExcludedOf(c, &s, above)...)
			b = appendNumbers(b, ^uint32(0))
			b = appendNumbers(b, p.MentionedOf(c, r, above)...)
			if p.AskOf(c, r, &s, above) {
				b = appendNumbers(b, ^uint32(0))
			}
		}
	}
	p.SigBuf = b
	return xxh3.Hash(b)
}

// appendSettings adds the user's settings in a delta to a signature. A setting that no longer
// applies adds nothing, because it may be removed without a delta.
func (p *Fold) appendSettings(b []byte, c *state.Channel, r *state.Row, settings *state.UserSettings) []byte {
	const flagged, levels, markers, filed = 1, 2, 4, 8
	parts, at := byte(0), len(b)+1
	b = append(b, r.Flags&(state.RowMember|state.RowMuted), 0, 0, 0) // as without settings; the second byte lists the parts that follow
	if p.Flagged(c, r, settings) {
		parts |= flagged
	}
	if !settings.PlainLevel() {
		parts |= levels
		b = append(b, byte(settings.Lasting), byte(settings.Timed))
		b = binary.LittleEndian.AppendUint64(wire.AppendBool(b, settings.IgnoreAll), uint64(settings.Until))
	}
	if !settings.PlainRest() {
		parts |= markers
		b = binary.LittleEndian.AppendUint32(b, settings.Line.Seq)
		b = append(append(b, byte(len(settings.Line.ID))), settings.Line.ID...)
		for _, l := range settings.Labels {
			b = append(append(b, byte(len(l))), l...)
		}
		b = append(b, 0)
	}
	if f := p.Filed(c, r, settings); f.Is {
		parts |= filed
		if r.Flags&state.RowMember == 0 {
			f.Pos = 0 // not published
		}
		b = binary.LittleEndian.AppendUint32(wire.AppendBool(b, f.Keep), f.Pos)
	}
	b[at] = parts
	return b
}

// appendPointer begins a signature with the scope's pointer and its number of marks.
func (s *Scope) appendPointer(b []byte, marks uint32) []byte {
	at := s.At
	if s.Pointer == 0 {
		at = 0 // not published
	}
	return appendNumbers(b, s.Pointer, uint32(at), uint32(at>>32), marks)
}

// appendMentions adds the fields about mentions, besides their number, to a signature.
func (n *Counts) appendMentions(b []byte) []byte {
	if n.Mentions > 0 {
		b = appendNumbers(b, n.Direct, n.FirstMention)
	}
	return b
}

func appendNumbers(b []byte, numbers ...uint32) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// ThreadSignature is Signature for a thread's row. It is 0 if there is nothing to publish.
func (p *Fold) ThreadSignature(c *state.Channel, r *state.Row) uint64 {
	if c.Flags&state.ChannelDeleted != 0 {
		return 0
	}
	s := p.ThreadScopeOf(c, r)
	shown := s.Follows && s.Pair.Flags&state.RowMember != 0
	if !s.Chosen && s.Pointer == 0 && p.RareOf(r).Marks == 0 && s.Follow.Flags&state.FollowStopped == 0 {
		return 0
	}
	b := s.appendPointer(p.SigBuf[:0], p.RareOf(r).Marks)
	if s.Chosen {
		b = appendNumbers(b, 2) // even if the thread is not shown: a former owner may have published it as shown
	}
	if s.Follow.Flags&state.FollowStopped != 0 {
		b = appendNumbers(b, 3) // even if the user did not follow: a former owner may have published a follow
	}
	if shown {
		n := p.ThreadCounts(c, r, &s)
		touched := p.TouchedAt(c, &s)
		b = appendNumbers(b, 1, n.Unread, n.Mentions, n.First, s.Newest, uint32(touched), uint32(touched>>32))
		b = n.appendMentions(b)
	}
	p.SigBuf = b
	return xxh3.Hash(b)
}
