package state

import "github.com/tidemark/tidemark/projections/internal/history"

// A channel may begin with seeded messages (DESIGN §4.1, messages_seeded). They have the seqs and
// positions from 1 to ChannelExtra.Seeded, no sender, no id, no preview, and all the same time.
// They are not stored one by one: they precede the log, whose blocks are numbered from the first
// message after them. A deleted seeded message is only in ChannelExtra.Deleted.

// SeedOf returns the number of seeded messages. The log begins after this seq.
func (p *State) SeedOf(c *Channel) uint32 {
	if c.Flags&ChannelSeeded == 0 {
		return 0
	}
	return p.ChannelExtras.At(c.Extra).Seeded
}

// seededEntry returns a seeded message as a log entry. Its LogTime is valid only while it is the
// channel's head, because no record posted it.
func (p *State) seededEntry(c *Channel, seq uint32) history.Entry {
	x := p.ChannelExtras.At(c.Extra)
	e := history.Entry{Seq: seq, Time: c.FirstTime, LogTime: x.SeedLog}
	if x.Deleted.Contains(seq) {
		e.Flags = history.Deleted
	}
	return e
}
