package projections

import "github.com/tidemark/tidemark/events"

// The methods of this file read. They need RLock and change nothing.

// View is what userID sees of channelID. It reports false where there is no such channel: one of which chat.messages
// has said nothing, or that was deleted.
func (p *Partition) View(userID, channelID string) (View, bool) {
	ci, c, ok := p.known(channelID)
	if !ok {
		return View{}, false
	}
	r := p.pairOrNone(ci, userID)
	return p.viewOf(c, r, userID, channelID), true
}

// known finds a channel that exists for readers.
func (p *Partition) known(channelID string) (uint32, *channel, bool) {
	ci := p.channelOf([]byte(channelID))
	if ci == 0 {
		return 0, nil, false
	}
	c := p.chans.at(ci)
	return ci, c, c.lastM != 0 && c.flags&chDeleted == 0
}

// pairOrNone is the pair's row, or that of a user who never did anything.
func (p *Partition) pairOrNone(ci uint32, userID string) *row {
	if u := p.userOf([]byte(userID)); u != 0 {
		if ref := p.rowOf(ci, u); ref != 0 {
			return p.rows.at(ref)
		}
	}
	return &row{ch: ci, ord: noOrdinal}
}

func (p *Partition) viewOf(c *channel, r *row, userID, channelID string) View {
	s := p.scopeOf(c, r)
	v := View{
		UserID: userID, ChannelID: channelID,
		Member: r.flags&rowMember != 0, Muted: r.flags&rowMuted != 0, Large: c.flags&chLarge != 0,
		ReadEpoch: r.marks + 1, Stamp: p.stampOf(c, r), Latest: p.latestOf(c),
	}
	if s.ptr > 0 {
		v.LastRead = Ref{p.messageID(c, s.ptr), s.ptr}
		v.LastReadAt = s.at
	}
	if v.Member || r.ord == noOrdinal {
		n := p.countsOf(c, r, &s)
		v.Unread, v.Mentions, v.OfflineUnread = n.unread, n.mentions, p.offlineOf(c, r, &s)
		if n.first > 0 {
			v.FirstUnread = Ref{p.messageID(c, n.first), n.first}
		}
	}
	if v.Large {
		above := max(s.ptr, r.base)
		v.ReadPos = p.posAt(c, above)
		v.Excluded = p.excludedOf(c, &s, above)
		v.Mentioned = p.mentionedOf(c, r, above)
	}
	return v
}

// messageID is the id of a message, empty where it has left the index (DESIGN §4.6).
func (p *Partition) messageID(c *channel, seq uint32) string {
	e := p.entryAt(c, seq)
	if !p.inIndex(c, &e) {
		return ""
	}
	return string(e.id)
}

// inIndex reports whether a message's id, sender and preview are still told.
func (p *Partition) inIndex(c *channel, e *entry) bool {
	return c.inTail(e.seq) || p.logTime-e.time <= p.settings.IndexRetention
}

func (p *Partition) latestOf(c *channel) Head {
	if c.latest == 0 {
		return Head{}
	}
	e := p.entryAt(c, c.latest)
	h := Head{Seq: c.latest, Pos: p.posAt(c, c.latest), At: e.time}
	if p.inIndex(c, &e) {
		h.MessageID, h.SenderID, h.Preview = string(e.id), string(e.sender), string(e.preview)
	}
	return h
}

// Channel describes a channel; false as in View.
func (p *Partition) Channel(channelID string) (ChannelView, bool) {
	_, c, ok := p.known(channelID)
	if !ok {
		return ChannelView{}, false
	}
	return ChannelView{
		ChannelID: channelID, Latest: p.latestOf(c), HeadSeq: c.headSeq, HeadPos: c.headPos,
		MemberCount: c.members, Large: c.flags&chLarge != 0,
	}, true
}

// InboxEntry is the part of a View that an inbox sorts and sums by.
type InboxEntry struct {
	ChannelID []byte // borrowed, valid during the call
	Unread    uint32
	Mentions  uint32
	Muted     bool
	LatestAt  int64 // Unix milliseconds; 0 = the channel has no live counted message
}

// Inbox calls fn for every channel of this partition that userID is a member of, in no order, until fn returns false.
// It allocates nothing per channel. The error is that of a corrupt store.
func (p *Partition) Inbox(userID string, fn func(*InboxEntry) bool) error {
	u := p.userOf([]byte(userID))
	if u == 0 {
		return p.Err()
	}
	var e InboxEntry
	for ref := p.users.at(u).first; ref != 0; {
		r := p.rows.at(ref)
		ref = r.nextUser
		if r.flags&rowMember == 0 {
			continue
		}
		c := p.chans.at(r.ch)
		s := p.scopeOf(c, r)
		n := p.countsOf(c, r, &s)
		e = InboxEntry{ChannelID: p.blobs.get(c.id), Unread: n.unread, Mentions: n.mentions, Muted: r.flags&rowMuted != 0}
		if c.latest == c.headSeq && c.latest > 0 {
			e.LatestAt = c.time
		} else if c.latest > 0 {
			l := p.entryAt(c, c.latest)
			e.LatestAt = l.time
		}
		if !fn(&e) {
			break
		}
	}
	return p.Err()
}

// eventOf names the record that put the pointer where it is.
func (p *Partition) eventOf(c *channel, s *scope) Event {
	switch {
	case s.ev == evOwn:
		e := p.entryAt(c, s.ptr)
		return Event{events.Messages, e.off}
	case s.ev&1 != 0:
		return Event{events.Messages, s.ev >> 1}
	}
	return Event{events.Reads, s.ev >> 1}
}
