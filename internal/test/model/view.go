package model

import (
	"slices"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// View returns a user's view of a channel (DESIGN §4.2).
func (m *Model) View(user, channelID string) (projections.View, bool) {
	p, ok := m.pair(user, channelID)
	if !ok {
		return projections.View{}, false
	}
	c := p.channel
	v := projections.View{
		UserID: user, ChannelID: channelID, Member: p.member, Large: c.large,
		Muted: p.settings.level() == events.LevelNone, ReadEpoch: 1 + p.marks,
		Level: p.settings.level(), Until: p.settings.until, IgnoreAll: p.settings.ignoreAll, Line: p.settings.line, Labels: p.settings.labels,
		Flagged: p.flagged(), Filed: p.filed(),
		LastRead: m.ref(c, p.shown.seq), LastReadAt: p.shown.at, Latest: m.latest(c),
		Stamp: events.Stamp{FoldVersion: projections.FoldVersion, M: c.lastM, R: p.lastR, D: m.lastDelivery(user, channelID)},
	}
	v.ChannelLabels, v.ChannelArchived = c.labels, c.archived
	v.StillFiled = v.Filed.Holds(c.pos(c.head()))
	v.Archived = c.archived || v.StillFiled
	v.LineKnown = m.lineKnown(c, v.Line)
	if v.Until != 0 {
		v.LevelAfter = p.settings.lasting
	}
	v.OfflineUnread = m.offline(p, channelID)
	for _, x := range c.posts {
		if !p.unread(x) {
			continue
		}
		v.Unread++
		if p.settings.mentions(x, user) {
			if v.Mentions++; v.Mentions == 1 {
				v.FirstMention = m.ref(c, x.seq)
			}
			if x.mentionsUser(user) {
				v.DirectMentions++
			}
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

// derivable fills the fields from which a reader derives the counts of a large channel (DESIGN §7).
func (m *Model) derivable(p *pair, v *projections.View) {
	from := max(p.shown.seq, p.baseline)
	v.ReadPos = p.channel.pos(from)
	for _, x := range p.channel.posts {
		if x.seq <= from || !x.counted() {
			continue
		}
		pos := p.channel.pos(x.seq)
		if x.sender == p.user || p.singles[x.seq] || (p.settings.hides(x.seq) && !p.hidAhead()) {
			v.Excluded = append(v.Excluded, pos) // also deleted messages, which the channel's holes have
		}
		if x.mentionsUser(p.user) && !x.deleted {
			v.Mentioned = append(v.Mentioned, pos)
		}
	}
	v.Ask = p.ask()
	v.Excluded = v.Excluded[max(0, len(v.Excluded)-listed):]
	v.Mentioned = v.Mentioned[max(0, len(v.Mentioned)-listed):]
}

// Channel describes a channel independently of a user; false as in View.
func (m *Model) Channel(channelID string) (projections.ChannelView, bool) {
	c := m.timeline().channels[channelID]
	if c == nil || c.deleted {
		return projections.ChannelView{}, false
	}
	return projections.ChannelView{
		ChannelID: channelID, Latest: m.latest(c), HeadSeq: c.head(), HeadPos: c.pos(c.head()),
		MemberCount: c.memberCount(), Large: c.large, Labels: c.labels, Archived: c.archived,
	}, true
}

// Deleted reports whether a channel was deleted.
func (m *Model) Deleted(channelID string) bool {
	c := m.timeline().channels[channelID]
	return c != nil && c.deleted
}

// OpenInTime reports whether a read_up_to of the user with a time target, in the channel or in one
// of its threads, can still reach future messages.
func (m *Model) OpenInTime(user, channelID, thread string) bool {
	t := m.timeline()
	time := int64(-1)
	if c := t.channels[channelID]; c != nil && c.head() > 0 {
		time = c.at(c.head()).time
	}
	return slices.ContainsFunc(m.sinceErased(user, channelID), func(r readRecord) bool {
		return string(r.event.UserID) == user && string(r.event.ChannelID) == channelID && (string(r.event.ThreadID) == thread || r.event.WithThreads) &&
			r.event.Kind == events.KindReadUpTo && r.event.Target == events.TargetTime &&
			time <= r.event.TargetTime && t.logTime <= r.lastsUntil
	})
}

// Inbox returns the channels that a user is a member of, by id.
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

// Explain returns the messages that the unread count consists of, and for each other message above
// the pointer the first reason why it does not count; false as in View.
func (m *Model) Explain(user, channelID string) (projections.Explanation, bool) {
	p, ok := m.pair(user, channelID)
	if !ok {
		return projections.Explanation{}, false
	}
	c := p.channel
	x := projections.Explanation{Pointer: m.ref(c, p.shown.seq), PointerAt: p.shown.at, Event: m.event(c, p.shown)}
	if p.left {
		return x, true // no messages to count or to exclude
	}
	for _, q := range c.posts[p.shown.seq:] {
		switch {
		case p.unread(q):
			m.explain(&x, c, q)
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
		case p.hides(q):
			x.Excluded.Hidden++
		default:
			x.Excluded.ReadSingly++
		}
	}
	return x, true
}

// explain adds an unread message to an explanation.
func (m *Model) explain(x *projections.Explanation, c *channel, p *post) {
	x.Unread++
	switch id := m.ref(c, p.seq).MessageID; {
	case id == "":
		x.Unnamed++
	case len(x.MessageIDs) < explained:
		x.MessageIDs = append(x.MessageIDs, id)
	default:
		x.More = true
	}
}

// lastDelivery returns the next offset after the user's last record of chat.deliveries in the
// channel.
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
