package state

import "github.com/tidemark/tidemark/projections/internal/history"

// A channel may begin with seeded messages (DESIGN §4.1, messages_seeded): seqs and positions 1 to
// ext.seeded, of nobody, without id and preview, all of one time. Nothing is kept of them one by
// one: they are a run in front of the log, whose blocks are numbered from the first message after
// it. A seeded message that was deleted is in ext.deleted alone.

// SeedOf is the number of seeded messages, which is the seq after which the log begins.
func (p *State) SeedOf(c *Channel) uint32 {
	if c.Flags&ChannelSeeded == 0 {
		return 0
	}
	return p.ChannelExtras.At(c.Extra).Seeded
}

// seededEntry is a seeded message as the log would have it. Only the log time at a channel's head
// may be asked of it: no record posted it.
func (p *State) seededEntry(c *Channel, seq uint32) history.Entry {
	x := p.ChannelExtras.At(c.Extra)
	e := history.Entry{Seq: seq, Time: c.FirstTime, LogTime: x.SeedLog}
	if x.Deleted.Contains(seq) {
		e.Flags = history.Deleted
	}
	return e
}
