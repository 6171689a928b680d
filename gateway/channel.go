package gateway

import (
	"slices"

	"github.com/tidemark/tidemark/events"
)

const (
	// maxPending bounds the messages of a channel that wait for their seq. Beyond, they are dropped, and its members get
	// fresh inboxes instead.
	maxPending = 2048
	// maxAnchors bounds the records that wait for their messages. Those in the middle are dropped: only how messages are
	// grouped depends on them.
	maxAnchors = 64
	// rememberedIDs is how many ids of a channel are remembered, to tell a message that was written twice.
	rememberedIDs = 32
)

// channel is a channel in which somebody connected is a member.
//
// A message has no seq until the fold gives it one. So what chat.messages says waits for a record of tidemark.channels
// whose stamp includes it: the fold has taken the message, and its seq follows from the record's head. A message is sent
// to those who are members at that point of the timeline, as far as timeline and fold have said.
type channel struct {
	id      string
	members map[*user]*entry

	record *events.ChannelRecord // newest; nil: none was seen yet
	latest head

	seenNext int64    // next offset after the newest message event that was seen
	pending  []posted // in order of their offsets
	anchors  []anchor // records that have not given out seqs yet
	base     anchor   // the newest record that has
	recent   []string // ids that got a seq lately
	lost     bool     // pending overflowed

	read, delivered receipts
}

// anchor says that the channel's head was at seq once the events before offset m had been folded.
type anchor struct {
	m   int64
	seq uint32
}

// posted is a message that waits for its seq.
type posted struct {
	offset                      int64
	id, sender, preview, thread string
	broadcast                   bool
	at                          int64
	seq                         uint32
}

// post takes a message of chat.messages. Called with the lock.
func (ch *channel) post(m *events.Message, offset int64) {
	if len(ch.pending) >= maxPending {
		ch.pending, ch.lost = nil, true
	}
	ch.pending = append(ch.pending, posted{
		offset: offset, id: string(m.MessageID), sender: string(m.SenderID), preview: string(m.Preview),
		thread: string(m.ThreadID), broadcast: m.Broadcast, at: m.OccurredAt,
	})
}

// take takes a record of tidemark.channels; it borrows from the fetch and is copied. It reports whether it is news.
// Called with the lock.
func (ch *channel) take(r *events.ChannelRecord) bool {
	if ch.record != nil && ch.record.Stamp.Dominates(r.Stamp) {
		return false
	}
	c := *r
	c.ChannelID = nil
	c.Holes, c.Alls = slices.Clone(r.Holes), slices.Clone(r.Alls)
	ch.latest = headOf(&r.Latest)
	c.Latest = events.Head{}
	ch.record = &c
	if len(ch.anchors) >= maxAnchors {
		ch.anchors = slices.Delete(ch.anchors, maxAnchors/2, maxAnchors/2+1)
	}
	ch.anchors = append(ch.anchors, anchor{m: r.Stamp.M, seq: r.HeadSeq})
	return true
}

// told is how far in chat.messages its members have been told: the newest record includes everything before.
func (ch *channel) told() int64 {
	if ch.record == nil {
		return 0
	}
	return ch.record.Stamp.M
}

// settle gives out seqs as far as records and messages have both come. What it returns is in order.
func (ch *channel) settle() []posted {
	var out []posted
	for len(ch.anchors) > 0 && ch.seenNext >= ch.anchors[0].m {
		a := ch.anchors[0]
		ch.anchors = ch.anchors[1:]
		n := 0
		for n < len(ch.pending) && ch.pending[n].offset < a.m {
			n++
		}
		group := ch.unique(ch.pending[:n])
		ch.pending = ch.pending[n:]
		ch.number(group, a)
		ch.base = a
		for _, p := range group {
			ch.remember(p.id)
		}
		out = append(out, group...)
	}
	if len(ch.anchors) == 0 {
		ch.anchors = nil
	}
	if len(ch.pending) == 0 {
		ch.pending = nil
	}
	return out
}

// number gives a group its seqs: the last of it is the head of the record that includes it. If the group is larger than
// what the head moved by, some were written before, longer ago than ids are remembered: then seqs stay 0, unknown, but
// for the one that the record names.
func (ch *channel) number(group []posted, a anchor) {
	n := uint32(len(group))
	certain := n <= a.seq && (ch.base.m == 0 || n <= a.seq-min(ch.base.seq, a.seq))
	for i := range group {
		switch {
		case certain:
			group[i].seq = a.seq - n + uint32(i) + 1
		case group[i].id == ch.latest.id:
			group[i].seq = ch.latest.seq
		}
	}
}

// unique drops what was written twice.
func (ch *channel) unique(list []posted) []posted {
	out := make([]posted, 0, len(list))
	for _, p := range list {
		if slices.Contains(ch.recent, p.id) || slices.ContainsFunc(out, func(o posted) bool { return o.id == p.id }) {
			continue
		}
		out = append(out, p)
	}
	return out
}

func (ch *channel) remember(id string) {
	if len(ch.recent) >= rememberedIDs {
		ch.recent = append(ch.recent[:0], ch.recent[1:]...)
	}
	ch.recent = append(ch.recent, id)
}

// applyMessage takes an event of chat.messages. Called with the lock.
func (g *Gateway) applyMessage(m *events.Message, offset int64) {
	switch m.Kind {
	case events.KindMembersLeft:
		g.revoke(m, offset)
	case events.KindMembersJoined:
		g.admit(m, offset)
	}
	ch := g.hub.channels[string(m.ChannelID)]
	if ch == nil {
		return
	}
	if m.Kind == events.KindMessagePosted {
		ch.post(m, offset)
	}
	ch.seenNext = offset + 1
	g.release(ch)
}

// entryOf is a user's entry of a channel, made if there is none.
func (u *user) entryOf(channelID string) *entry {
	e := u.entries[channelID]
	if e == nil {
		e = &entry{user: u}
		u.entries[channelID] = e
	}
	return e
}

// applyChannel takes a record of tidemark.channels. Called with the lock.
func (g *Gateway) applyChannel(r *events.ChannelRecord) {
	ch := g.hub.channels[string(r.ChannelID)]
	if ch == nil || !ch.take(r) {
		return
	}
	g.release(ch)
	if !r.Large {
		return
	}
	for u, e := range ch.members {
		v := e.view
		if e.since == unsure || !g.deriveCounts(e, &v) || v == e.view {
			continue
		}
		u.count(e, -1)
		e.view = v
		u.count(e, +1)
		g.frameUpdate(u, e, "")
	}
}

// release sends the messages that have their seq now.
func (g *Gateway) release(ch *channel) {
	ready := ch.settle()
	for i := range ready {
		g.frameMessage(ch, &ready[i])
	}
	if ch.lost && len(ch.pending) == 0 {
		ch.lost = false
		for u := range ch.members {
			g.reload(u)
		}
	}
}

// frameMessage sends one message to the members who are connected.
func (g *Gateway) frameMessage(ch *channel, p *posted) {
	b := begin(make([]byte, 0, 256), "message.new")
	b = text(b, "channel_id", ch.id)
	b = text(b, "message_id", p.id)
	b = number(b, "seq", uint64(p.seq))
	b = text(b, "sender_id", p.sender)
	if !g.cfg.PreviewsOff {
		b = text(b, "preview", p.preview)
	}
	b = instant(b, "at", p.at)
	b = append(textIf(b, "thread_id", p.thread), '}')
	report := ch.record != nil && !ch.record.Large && ch.record.MemberCount <= g.cfg.ReceiptLimit
	for u, e := range ch.members {
		if p.offset < e.since {
			continue
		}
		it := item{channel: ch.id, body: b}
		if report && u.id != p.sender && p.seq > e.delivered {
			it.message, it.reader = p, e
		}
		if p.seq > e.pushed {
			e.pushed, e.pushedID = p.seq, p.id
		}
		g.hub.broadcast(u, it)
		g.autoRead(u, e, p)
	}
}
