package model

import (
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// furthest reports whether the user's furthest public read is at or past p. The fold has nothing
// else for old messages.
func (m *Model) furthest(p *post, user, channelID string) bool {
	return slices.ContainsFunc(m.publicReads(user, channelID, p.scope()), func(r receipt) bool { return !r.single && r.covers(p) }) ||
		slices.ContainsFunc(m.ownLifting(user, channelID, p.scope()), func(o *post) bool { return o.seq > p.seq })
}

// Receipts returns who received and read a message, recipients by user id (DESIGN §4.5,
// GetReceipts). It returns false if there is no such message.
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
			r.ViewedAt, r.Viewed = m.viewedAt(p, user, channelID)
		}
		v.Recipients++
		if r.Delivered {
			v.Delivered++
		}
		if r.Read {
			v.Read++
		}
		if r.Viewed {
			v.Viewed++
		}
		v.List = append(v.List, r)
	}
	return v, true
}

// MayTell reports whether tidemark.receipts may have a receipt (DESIGN §7). Its message must be
// small, and its user not erased, a possible recipient of some message up to it, and known to have
// read or received it by then.
func (m *Model) MayTell(channelID string, delivered bool, user string, seq uint32, at int64) bool {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted || c.at(seq) == nil || !c.at(seq).small || c.at(seq).hiddenTo(user) || m.erased(user, channelID) {
		return false
	}
	list := m.publicReads(user, channelID, "")
	if thread := c.at(seq).scope(); thread != "" {
		list = append(list, m.publicReads(user, channelID, thread)...)
	}
	if delivered {
		list = m.deliveriesOf(user, channelID)
	}
	return slices.ContainsFunc(c.spans[user], func(s span) bool { return s.from < seq }) &&
		slices.ContainsFunc(list, func(r receipt) bool { return r.covers(c.at(seq)) && r.at <= at })
}

// MayTellWithThreads is MayTell for a read of the channel with_threads.
func (m *Model) MayTellWithThreads(channelID, user string, seq uint32, at int64) bool {
	const none = "\x00" // a thread that only with_threads reads reach
	return slices.ContainsFunc(m.publicReads(user, channelID, none), func(r receipt) bool { return r.seq >= seq && r.at <= at })
}

// MayTellViewed is MayTell for a view.
func (m *Model) MayTellViewed(channelID, user string, seq uint32, at int64) bool {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted || c.at(seq) == nil || !c.recipient(c.at(seq), user) || m.erased(user, channelID) {
		return false
	}
	first, viewed := m.viewedAt(c.at(seq), user, channelID)
	return viewed && first <= max(at, c.at(seq).time)
}

// MessageView records that a user viewed a message.
type MessageView struct {
	UserID     string
	Seq        uint32
	At, Posted int64 // time of the first view, and the message's own time; Unix milliseconds
}

// Views returns who viewed which message of a channel, of whatever age.
func (m *Model) Views(channelID string) (out []MessageView) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return nil
	}
	for seq := uint32(1); seq <= c.head(); seq++ {
		p := c.at(seq)
		for _, user := range m.Users() {
			if p == nil || !c.recipient(p, user) || m.erased(user, channelID) {
				continue
			}
			if at, viewed := m.viewedAt(p, user, channelID); viewed {
				out = append(out, MessageView{user, seq, at, p.time})
			}
		}
	}
	return out
}

// Erased reports whether a user was erased in a channel.
func (m *Model) Erased(user, channelID string) bool { return m.erased(user, channelID) }

// Readers returns the furthest public reads of a channel's members, by user id (DESIGN §4.5,
// GetReaders); false as in View.
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

// offline returns how many of the unread messages were queued for the user and lie above the
// furthest seq that they ever read.
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
