package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// pair is everything about one user in one channel.
type pair struct {
	*reader
	user     string
	member   bool
	left     bool // was a member and is none
	baseline uint32
	shown    spot
}

// pair reports false where there is no such channel: one of which chat.messages says nothing, or that was deleted.
func (m *Model) pair(user, channelID string) (*pair, bool) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return nil, false
	}
	member, ever := c.member[user]
	r := m.readsOf(user, channelID, "")
	return &pair{
		reader: r, user: user, member: member, left: ever && !member, baseline: c.baseline[user], shown: r.shown(),
	}, true
}

// unread is the definition of DESIGN §4.2, message by message.
func (p *pair) unread(m *post) bool {
	return m.seq > max(p.shown.seq, p.baseline) && m.counted() && p.channel.live(m) &&
		m.sender != p.user && !p.singles[m.seq] && !p.left
}

// View is what user sees of channelID (DESIGN §4.2).
func (m *Model) View(user, channelID string) (projections.View, bool) {
	p, ok := m.pair(user, channelID)
	if !ok {
		return projections.View{}, false
	}
	c := p.channel
	v := projections.View{
		UserID: user, ChannelID: channelID, Member: p.member, Large: c.large,
		Muted: p.muted, ReadEpoch: 1 + p.marks,
		LastRead: m.ref(c, p.shown.seq), LastReadAt: p.shown.at, Latest: m.latest(c),
		Stamp: events.Stamp{FoldVersion: projections.FoldVersion, M: c.lastM, R: p.lastR, D: m.lastDelivery(user, channelID)},
	}
	v.OfflineUnread = m.offline(p, channelID)
	for _, x := range c.posts {
		if !p.unread(x) {
			continue
		}
		v.Unread++
		if x.all || x.mentionsUser(user) {
			v.Mentions++
		}
		if v.FirstUnread.Seq == 0 {
			v.FirstUnread = m.ref(c, x.seq)
		}
	}
	if c.large {
		m.derivable(p, &v)
	}
	return v, true
}

// listed is how many positions a view lists at most.
const listed = 1000

// derivable fills what a reader needs to derive the counts of a large channel by itself (DESIGN §7).
func (m *Model) derivable(p *pair, v *projections.View) {
	from := max(p.shown.seq, p.baseline)
	v.ReadPos = p.channel.pos(from)
	for _, x := range p.channel.posts {
		if x.seq <= from || !x.counted() {
			continue
		}
		pos := p.channel.pos(x.seq)
		if x.sender == p.user || p.singles[x.seq] {
			v.Excluded = append(v.Excluded, pos) // deleted ones too: the channel's holes tell
		}
		if x.mentionsUser(p.user) && !x.deleted {
			v.Mentioned = append(v.Mentioned, pos)
		}
	}
	v.Excluded = v.Excluded[max(0, len(v.Excluded)-listed):]
	v.Mentioned = v.Mentioned[max(0, len(v.Mentioned)-listed):]
}

// Channel describes a channel, whoever asks; false as in View.
func (m *Model) Channel(channelID string) (projections.ChannelView, bool) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return projections.ChannelView{}, false
	}
	return projections.ChannelView{
		ChannelID: channelID, Latest: m.latest(c), HeadSeq: c.head(), HeadPos: c.pos(c.head()),
		MemberCount: c.memberCount(), Large: c.large,
	}, true
}

// Deleted reports whether a channel was deleted.
func (m *Model) Deleted(channelID string) bool {
	c := m.timeline().channels[channelID]
	return c != nil && c.deleted
}

// OpenInTime reports whether a read_up_to of the user with a time target, in the channel or in one of its threads, can
// still reach messages that are not there.
func (m *Model) OpenInTime(user, channelID, thread string) bool {
	t := m.timeline()
	time := int64(-1)
	if c := t.channels[channelID]; c != nil && c.head() > 0 {
		time = c.at(c.head()).time
	}
	return slices.ContainsFunc(m.sinceErased(user, channelID), func(r readRecord) bool {
		return string(r.event.UserID) == user && string(r.event.ChannelID) == channelID && string(r.event.ThreadID) == thread &&
			r.event.Kind == events.KindReadUpTo && r.event.Target == events.TargetTime &&
			time <= r.event.TargetTime && t.logTime <= r.lastsUntil
	})
}

// Inbox are the channels that user is a member of, by id.
func (m *Model) Inbox(user string) []projections.InboxEntry {
	var out []projections.InboxEntry
	for _, id := range m.Channels() {
		if v, ok := m.View(user, id); ok && v.Member {
			out = append(out, projections.InboxEntry{
				ChannelID: []byte(id), Unread: v.Unread, Mentions: v.Mentions, Muted: v.Muted, LatestAt: v.Latest.At,
			})
		}
	}
	return out
}

// explained is how many messages an explanation lists at most.
const explained = 1000

// Explain says which messages are behind the unread number, and for each other message above the pointer the first
// reason why it does not count; false as in View.
func (m *Model) Explain(user, channelID string) (projections.Explanation, bool) {
	p, ok := m.pair(user, channelID)
	if !ok {
		return projections.Explanation{}, false
	}
	c := p.channel
	x := projections.Explanation{Pointer: m.ref(c, p.shown.seq), PointerAt: p.shown.at, Event: p.shown.event}
	if p.left {
		return x, true // nothing is unread, and nothing is left out of it
	}
	for _, q := range c.posts[p.shown.seq:] {
		switch {
		case p.unread(q):
			x.Unread++
			if len(x.MessageIDs) < explained {
				x.MessageIDs = append(x.MessageIDs, m.ref(c, q.seq).MessageID)
			} else {
				x.More = true
			}
		case q.seq <= c.floor:
			x.Excluded.Deleted++
		case q.seq <= p.baseline:
			x.Excluded.BeforeJoin++
		case q.deleted:
			x.Excluded.Deleted++
		case q.silent:
			x.Excluded.Silent++
		case !q.inChannel():
			x.Excluded.Thread++
		case q.sender == user:
			x.Excluded.Own++
		default:
			x.Excluded.ReadSingly++
		}
	}
	return x, true
}

// kept is how many of a channel's newest messages keep id, sender and preview whatever their age.
const kept = 16

// told reports whether id, sender and preview of a message are still told (DESIGN §4.6).
func (m *Model) told(c *channel, p *post) bool {
	return c.head()-p.seq < kept || m.timeline().logTime-p.time <= m.settings.IndexRetention
}

// ref names a message; seq 0 is none.
func (m *Model) ref(c *channel, seq uint32) projections.Ref {
	p := c.at(seq)
	switch {
	case p == nil:
		return projections.Ref{}
	case !m.told(c, p):
		return projections.Ref{Seq: seq}
	}
	return projections.Ref{MessageID: p.id, Seq: seq}
}

func (m *Model) latest(c *channel) projections.Head {
	p := c.latest()
	if p == nil {
		return projections.Head{}
	}
	h := projections.Head{Seq: p.seq, Pos: c.pos(p.seq), At: p.time}
	if m.told(c, p) {
		h.MessageID, h.SenderID, h.Preview = p.id, p.sender, p.preview
	}
	return h
}

// lastDelivery is the next offset after the user's last record of chat.deliveries in the channel.
func (m *Model) lastDelivery(user, channelID string) int64 {
	last := int64(0)
	for i := range m.deliveries {
		d := &m.deliveries[i]
		if string(d.event.UserID) == user && string(d.event.ChannelID) == channelID {
			last = d.offset + 1
		}
	}
	return last
}
