package view

import "github.com/tidemark/tidemark/events"

// Firsts are the positions of the first unread message and of the first mention in a view of a
// large channel; 0: unknown. No record states which message is at a position, except for the
// latest. So a view keeps naming a first message as long as that is certainly still the first.
type Firsts struct{ unread, mention uint32 }

// Derive sets the first messages of v, whose counts n were derived. was is the previous view, and v
// has its first unread message. latestAt is the position of the channel's latest.
func (f *Firsts) Derive(v, was *View, n *events.Counts, latestAt uint32) {
	switch {
	case n.First > 0 && n.First == f.unread:
	case n.First > 0 && n.First == latestAt:
		v.First = v.Latest.Ref
	case n.Unread == was.Unread && v.Latest.Seq == was.Latest.Seq && v.Last.Seq == was.Last.Seq && v.Epoch == was.Epoch:
		// Nothing arrived and nothing was taken back, so the same messages are unread.
	default:
		v.First = Ref{}
	}
	mention := Ref{}
	switch {
	case n.FirstMention == 0:
	case n.FirstMention == f.mention && was.Details != nil:
		mention = was.Details.FirstMention
	case n.FirstMention == latestAt:
		mention = v.Latest.Ref
	}
	if mention.Seq > 0 || v.Details != nil && v.Details.FirstMention.Seq > 0 {
		v.Change(func(s *Details) { s.FirstMention = mention })
	}
	f.note(v, n)
}

// Learn stores the positions of the first messages that an answer names. n is derived from a record
// with the same latest message; if n differs from the answer, the positions are unknown.
func (f *Firsts) Learn(v *View, n *events.Counts) {
	if *f = (Firsts{}); n.Unread == v.Unread && n.Mentions == v.Mentions {
		f.note(v, n)
	}
}

// note stores the positions of the first messages that v names.
func (f *Firsts) note(v *View, n *events.Counts) {
	*f = Firsts{}
	if v.First.Seq > 0 {
		f.unread = n.First
	}
	if v.Details != nil && v.Details.FirstMention.Seq > 0 {
		f.mention = n.FirstMention
	}
}
