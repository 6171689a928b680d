package rules

import (
	"math"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// A filed channel is listed apart until there is news (DESIGN §4.7). A delta says up to which
// position of the head there is none: the last one before the news, else that of the head.
//
// In a large channel messages of others make no delta. While the filing is not Decided, they move
// the head and are no news: then a delta says that no head is beyond its position, and one delta
// follows when it is Decided. From then on whatever moves the head and is no news makes a delta of
// its own.

// channelFiled folds the filing of a channel. To file it again may move nothing that is seen.
func (p *Fold) channelFiled(ref uint32, c *state.Channel, r *state.Row, m *events.Read, h *state.PendingEvent) state.Outcome {
	before := p.Signature(c, r)
	said := p.SaidOf(r)
	if said.Filed = (state.Filed{}); m.Archived {
		said.Filed = state.File(sinceOf(m, h), m.Keep)
	}
	p.SetSaid(ref, r, said)
	p.awaitDecided(ref, c, r)
	p.forgetHints()
	return p.outcome(ref, c, r, before, state.OutcomeDuplicate, m.InstanceID)
}

// Filed is what a delta says of the filing of a channel.
func (p *Fold) Filed(c *state.Channel, r *state.Row, said *state.Said) events.Filed {
	if said == nil || !said.Filed.Is {
		return events.Filed{}
	}
	f := events.Filed{Is: true, Keep: said.Filed.Keep, Pos: c.HeadPos}
	if news := p.News(c, r, &said.Filed); news != 0 {
		f.Pos = p.PosAt(c, news) - 1
	} else if c.Flags&state.ChannelLarge != 0 && !said.Filed.Decided(c) {
		f.Pos = math.MaxUint32
	}
	return f
}

// FiledToHead reports whether a row's user filed a small channel until there is news, and there is
// none: what a delta says of the filing moves with the head.
func (p *Fold) FiledToHead(c *state.Channel, r *state.Row) bool {
	said := p.ExtraSaid(r)
	return said != nil && said.Filed.Is && !said.Filed.Keep && c.Flags&state.ChannelLarge == 0 && p.News(c, r, &said.Filed) == 0
}

// awaitDecided registers what decides the filing of a large channel.
func (p *Fold) awaitDecided(ref uint32, c *state.Channel, r *state.Row) {
	said := p.ExtraSaid(r)
	if said == nil || !said.Filed.Is || c.Flags&state.ChannelLarge == 0 || said.Filed.Decided(c) {
		return
	}
	said.Filed.Found.TellsLater = true
	w := &p.EnsureExtra(c).Wait
	p.Hints++
	switch f := &said.Filed; {
	case f.HeadSeq != 0:
		w.Seqs.Push(int64(f.HeadSeq), ref)
	case p.MessageTime > f.Horizon: // the next message decides it
		w.Seqs.Push(int64(c.HeadSeq)+1, ref)
	default:
		w.Times.Push(f.At, ref)
		p.Lapses.Push(f.Horizon, ref)
	}
}

// wakeFiled tells a member of a large channel that their filing is decided.
func (p *Fold) wakeFiled(ref uint32, c *state.Channel, r *state.Row) {
	said := p.ExtraSaid(r)
	if said == nil || !said.Filed.Is || !said.Filed.Found.TellsLater {
		return
	}
	switch f := &said.Filed; {
	case f.Decided(c):
		f.Found.TellsLater = false
		if c.Flags&state.ChannelLarge != 0 && r.Flags&state.RowMember != 0 {
			p.PairChanged(ref)
		}
	case f.HeadSeq == 0 && p.MessageTime > f.Horizon:
		p.EnsureExtra(c).Wait.Seqs.Push(int64(c.HeadSeq)+1, ref)
	}
}
