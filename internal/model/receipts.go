package model

import (
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// receiptsKept is how long the times of receipts are told, in milliseconds of log time: 90 days (DESIGN §4.5).
const receiptsKept = 90 * 24 * 60 * 60 * 1000

// span is a membership: the user was a member when the messages after from, up to to, were posted.
type span struct {
	from, to uint32
	open     bool // to this day
}

// recipient reports whether the user was a member when p was posted, and is not its sender.
func (c *channel) recipient(p *post, user string) bool {
	return user != p.sender && slices.ContainsFunc(c.spans[user], func(s span) bool {
		return s.from < p.seq && (s.open || p.seq <= s.to)
	})
}

// erased reports whether the user was ever erased in the channel: then he is in none of its lists, for good.
func (m *Model) erased(user, channelID string) bool {
	return slices.ContainsFunc(m.reads, func(r readRecord) bool {
		return r.event.Kind == events.KindUserErased && string(r.event.UserID) == user && string(r.event.ChannelID) == channelID
	})
}

// receipt is what one event says: everything up to seq, or the message seq alone, at a time.
type receipt struct {
	seq    uint32
	single bool
	at     int64
}

func (r receipt) covers(p *post) bool { return r.seq == p.seq || (!r.single && r.seq > p.seq) }

// publicReads are what the user's public reads in a scope say, whatever their epoch, and whatever marks did.
func (m *Model) publicReads(user, channelID, thread string) (out []receipt) {
	r := m.readsOf(user, channelID, thread)
	for i := range m.reads {
		rec := &m.reads[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID || string(e.ThreadID) != thread || e.Private {
			continue
		}
		switch e.Kind {
		case events.KindReadUpTo:
			if s := r.target(rec); s != 0 {
				out = append(out, receipt{seq: s, at: e.OccurredAt})
			}
		case events.KindMessagesRead:
			for _, id := range e.IDs {
				if p := r.find(rec, id); p != nil && r.has(p) {
					out = append(out, receipt{p.seq, true, e.OccurredAt})
				}
			}
		}
	}
	return out
}

// deliveriesOf are what the user's deliveries say.
func (m *Model) deliveriesOf(user, channelID string) (out []receipt) {
	r := m.readsOf(user, channelID, "")
	for i := range m.deliveries {
		rec := &m.deliveries[i]
		e := &rec.event
		if string(e.UserID) != user || string(e.ChannelID) != channelID || e.Kind != events.KindDelivered {
			continue
		}
		id, single := e.MessageID, true
		if len(id) == 0 {
			id, single = e.UpToID, false
		}
		if p := r.findDelivered(rec, id); p != nil {
			out = append(out, receipt{p.seq, single, e.OccurredAt})
		}
	}
	return out
}

// findDelivered is find for a delivery.
func (r *reader) findDelivered(rec *deliveryRecord, id []byte) *post {
	p := r.timeline.find(r.channel, id, rec.now)
	if p == nil || p.logTime > rec.lastsUntil {
		return nil
	}
	return p
}

// scope is the thread whose reads read the message; empty is the channel's own scope.
func (p *post) scope() string {
	if p.inChannel() {
		return ""
	}
	return p.thread
}

// readAt is the earliest time at which the user is said to have read p, and whether he is.
func (m *Model) readAt(p *post, user, channelID string) (at int64, read bool) {
	note := func(t int64) {
		if t = max(t, p.time); !read || t < at {
			at, read = t, true
		}
	}
	for _, r := range m.publicReads(user, channelID, p.scope()) {
		if r.covers(p) {
			note(r.at)
		}
	}
	for _, o := range m.ownLifting(user, channelID, p.scope()) {
		if o.seq > p.seq {
			note(o.time)
		}
	}
	return at, read
}

// ownLifting are the user's own posts in a scope that read up to themselves.
func (m *Model) ownLifting(user, channelID, thread string) (out []*post) {
	r := &reader{timeline: m.timeline(), channel: m.timeline().channels[channelID], thread: thread}
	for _, p := range r.channel.posts {
		if m.settings.SendMarksRead && p.sender == user && r.lifts(p) {
			out = append(out, p)
		}
	}
	return out
}

// deliveredAt is the earliest time at which p was delivered to the user or read by him, and whether it was.
func (m *Model) deliveredAt(p *post, user, channelID string) (at int64, delivered bool) {
	at, delivered = m.readAt(p, user, channelID)
	if !p.small {
		return at, delivered
	}
	for _, r := range m.deliveriesOf(user, channelID) {
		if t := max(r.at, p.time); r.covers(p) && (!delivered || t < at) {
			at, delivered = t, true
		}
	}
	return at, delivered
}

// furthest reports whether the furthest that the user read publicly is at or past p, which is all that is told of old
// messages.
func (m *Model) furthest(p *post, user, channelID string) bool {
	return slices.ContainsFunc(m.publicReads(user, channelID, p.scope()), func(r receipt) bool { return !r.single && r.covers(p) }) ||
		slices.ContainsFunc(m.ownLifting(user, channelID, p.scope()), func(o *post) bool { return o.seq > p.seq })
}

// Receipts says who received and read a message, recipients by user id (DESIGN §4.5, GetReceipts); false if there is no
// such message.
func (m *Model) Receipts(channelID, messageID string) (projections.ReceiptsView, bool) {
	t := m.timeline()
	c := t.channels[channelID]
	if c == nil || c.deleted {
		return projections.ReceiptsView{}, false
	}
	p := t.find(c, []byte(messageID), t.logTime)
	for i := c.head(); p == nil && i > 0 && c.head()-i < kept; i-- {
		if c.at(i).id == messageID {
			p = c.at(i)
		}
	}
	if p == nil || p.seq <= c.floor {
		return projections.ReceiptsView{}, false
	}
	v := projections.ReceiptsView{ChannelID: channelID, MessageID: messageID, Seq: p.seq, SenderID: p.sender}
	old := t.logTime-p.time > receiptsKept
	for _, user := range m.Users() {
		if !c.recipient(p, user) || m.erased(user, channelID) {
			continue
		}
		r := projections.Receipt{UserID: user}
		if old {
			r.Read = m.furthest(p, user, channelID)
			r.Delivered = r.Read
		} else {
			r.ReadAt, r.Read = m.readAt(p, user, channelID)
			r.DeliveredAt, r.Delivered = m.deliveredAt(p, user, channelID)
		}
		v.Recipients++
		if r.Delivered {
			v.Delivered++
		}
		if r.Read {
			v.Read++
		}
		v.List = append(v.List, r)
	}
	return v, true
}

// MayTell reports whether tidemark.receipts may tell a receipt (DESIGN §7): of a small message, of a user who could be
// recipient of some message up to it and was not erased, and who is said to have read up to it, or got it, by then.
func (m *Model) MayTell(channelID string, delivered bool, user string, seq uint32, at int64) bool {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted || c.at(seq) == nil || !c.at(seq).small || m.erased(user, channelID) {
		return false
	}
	said := m.publicReads(user, channelID, "")
	if thread := c.at(seq).scope(); thread != "" {
		said = append(said, m.publicReads(user, channelID, thread)...)
	}
	if delivered {
		said = m.deliveriesOf(user, channelID)
	}
	return slices.ContainsFunc(c.spans[user], func(s span) bool { return s.from < seq }) &&
		slices.ContainsFunc(said, func(r receipt) bool { return r.covers(c.at(seq)) && r.at <= at })
}

// Readers are the furthest public reads of a channel's members, by user id (DESIGN §4.5, GetReaders); false as in View.
func (m *Model) Readers(channelID string) ([]projections.Reader, bool) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return nil, false
	}
	var out []projections.Reader
	for user, is := range c.member {
		if !is || m.erased(user, channelID) {
			continue
		}
		var far receipt
		for _, r := range m.publicReads(user, channelID, "") {
			if !r.single && (r.seq > far.seq || (r.seq == far.seq && r.at < far.at)) {
				far = r
			}
		}
		for _, o := range m.ownLifting(user, channelID, "") {
			if o.seq >= far.seq {
				far = receipt{seq: o.seq, at: o.time}
			}
		}
		out = append(out, projections.Reader{UserID: user, Message: m.ref(c, far.seq), At: far.at})
	}
	slices.SortFunc(out, func(a, b projections.Reader) int { return strings.Compare(a.UserID, b.UserID) })
	return out, true
}

// offline is how many of the unread messages were queued for the user and lie above the furthest that he ever read.
func (m *Model) offline(p *pair, channelID string) (n uint32) {
	if m.erased(p.user, channelID) {
		return 0
	}
	far := p.far
	for _, o := range m.ownLifting(p.user, channelID, "") {
		far = max(far, o.seq)
	}
	queued := map[uint32]bool{}
	for i := range m.deliveries {
		rec := &m.deliveries[i]
		if e := &rec.event; string(e.UserID) == p.user && string(e.ChannelID) == channelID && e.Kind == events.KindQueued {
			if q := p.findDelivered(rec, e.MessageID); q != nil {
				queued[q.seq] = true
			}
		}
	}
	for _, q := range p.channel.posts {
		if queued[q.seq] && q.seq > far && p.unread(q) {
			n++
		}
	}
	return n
}
