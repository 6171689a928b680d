package gateway

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/interest"
	"github.com/tidemark/tidemark/gateway/internal/sequence"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
)

// channel is a channel with a connected member. Its records of chat.messages wait in the sequencer
// for their seqs. A message is then sent to the users who were members at its place in the
// timeline, as far as the timeline and the fold are known.
type channel struct {
	sequence.Sequencer
	id      string
	hub     *hub // the shard of these members
	members map[*user]*entry

	whole view.Whole

	read, delivered, viewed receiptsOf
}

// applyMessage applies an event of chat.messages in the shards that have its channel. Called
// without a lock.
func (g *Gateway) applyMessage(m *events.Message, offset int64) {
	concerned := g.hubs.interest.Of(m.ChannelID)
	var p sequence.Message
	switch {
	case m.Kind == events.KindMembersLeft || m.Kind == events.KindMembersJoined:
		concerned = interest.All // the shards of joining users may not have the channel yet
	case concerned != 0 && m.Kind == events.KindMessagePosted:
		p = sequence.MessageOf(m, offset)
	}
	g.hubs.each(concerned, func(h *hub) { g.applyMessageTo(h, m, p, offset) })
}

// applyMessageTo applies an event of chat.messages in one shard. Called with its lock.
func (g *Gateway) applyMessageTo(h *hub, m *events.Message, p sequence.Message, offset int64) {
	switch m.Kind {
	case events.KindMembersLeft:
		g.revoke(h, m, offset)
	case events.KindMembersJoined:
		g.admit(h, m, offset)
	}
	ch := h.channels[string(m.ChannelID)]
	if ch == nil {
		return
	}
	g.plant("message")
	if m.Kind == events.KindMessagePosted {
		ch.Post(p)
	}
	ch.See(offset + 1)
	g.release(ch)
}

// applyChannel applies a record of tidemark.channels. Called with the lock.
func (g *Gateway) applyChannel(h *hub, r *events.ChannelRecord) {
	ch := h.channels[string(r.ChannelID)]
	if ch == nil {
		return
	}
	was, known := ch.whole, ch.Record != nil // else some members' answers were newer than others'
	if !ch.Take(r) {
		return
	}
	g.plant("channel")
	g.release(ch)
	ch.whole = view.WholeOf(r)
	for u, e := range ch.members {
		if !r.Large && known && ch.whole == was && !e.view.Filed().Is { // deltas update its members
			continue
		}
		if e.since == unconfirmed {
			continue
		}
		v := e.view
		if derived := v; r.Large && g.deriveCounts(e, &derived) {
			v = derived
		}
		if f := v.Filed(); r.Large && f.Is && !f.Keep && !v.Details.HasPos {
			g.ask(e) // only an answer has shown that it is filed, and this message may be news
		}
		if g.complete(e, &v, 0, false); v.Same(&e.view) {
			continue
		}
		u.change(e, func() { e.view = v })
		g.frameUpdate(u, e, "")
	}
}

// release sends the messages that now have a seq.
func (g *Gateway) release(ch *channel) {
	ready := ch.Settle()
	for i := range ready {
		g.frameMessage(ch, &ready[i])
	}
	if ch.Overflowed() {
		for u := range ch.members {
			u.reload()
		}
	}
}

// frameMessage sends a message to the connected members.
func (g *Gateway) frameMessage(ch *channel, p *sequence.Message) {
	f := frames.Lazy(160+len(ch.id)+len(p.ID)+len(p.Sender)+len(p.Preview)+len(p.Thread), func() []byte { return p.Frame(ch.id, !g.cfg.PreviewsOff) })
	report := ch.Record != nil && !ch.Record.Large && ch.Record.MemberCount <= g.cfg.ReceiptLimit
	for u, e := range ch.members {
		if p.Offset < e.since || slices.Contains(p.HiddenFrom, u.id) {
			continue
		}
		it := wire.Item{Channel: ch.id, Frame: f}
		if report && u.id != p.Sender && p.Seq > e.delivered {
			it.Message, it.Reader = p, e
		}
		if p.Seq > e.pushed {
			e.pushed = p.Seq
		}
		u.broadcast(it, nil, nil)
		g.autoRead(u, e, p)
	}
}
