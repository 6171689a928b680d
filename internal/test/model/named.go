package model

import (
	"slices"

	"github.com/tidemark/tidemark/projections"
)

// kept is how many of a channel's newest messages keep id, sender and preview whatever their age.
const kept = 16

// keepsText reports whether answers still have id, sender and preview of a message (DESIGN §4.6).
func (m *Model) keepsText(c *channel, p *post) bool {
	return c.head()-p.seq < kept || m.timeline().logTime-p.time <= m.settings.IndexRetention
}

// ref names a message; seq 0 is none.
func (m *Model) ref(c *channel, seq uint32) projections.Ref {
	p := c.at(seq)
	switch {
	case p == nil:
		return projections.Ref{}
	case !m.keepsText(c, p):
		return projections.Ref{Seq: seq}
	}
	return projections.Ref{MessageID: p.id, Seq: seq}
}

func (m *Model) latest(c *channel) projections.Head {
	p := c.latest()
	if p == nil {
		return projections.Head{}
	}
	h := projections.Head{Seq: p.seq, Pos: c.pos(p.seq), At: m.timeline().told(c, p)}
	if m.keepsText(c, p) {
		h.MessageID, h.SenderID, h.Preview = p.id, p.sender, p.preview
	}
	return h
}

// lineKnown returns a line by id and by seq, as far as both are known; the user stated one of them.
// Several messages may have the id: the line is then at the oldest of them in the index, else at
// the newest whose id is kept.
func (m *Model) lineKnown(c *channel, line projections.Ref) projections.Ref {
	if line.Seq != 0 {
		if p := m.ref(c, line.Seq); p.Seq != 0 {
			return p
		}
		return line
	}
	if line.MessageID == "" {
		return line
	}
	if p := m.timeline().find(c, []byte(line.MessageID), m.timeline().logTime); p != nil {
		line.Seq = p.seq
		return line
	}
	for _, p := range slices.Backward(c.posts) {
		if p.id == line.MessageID && m.keepsText(c, p) {
			line.Seq = p.seq
			break
		}
	}
	return line
}
