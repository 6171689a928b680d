package views

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/cold"
	"github.com/tidemark/tidemark/projections/internal/rules"
	"github.com/tidemark/tidemark/projections/internal/state"
)

// The methods of this file need RLock and change nothing.

// View returns the user's view of a channel. It returns false if the channel does not exist: no
// record of chat.messages has named it, or it was deleted.
func (p *Queries) View(userID, channelID string) (View, bool) {
	ci, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return View{}, false
	}
	v := View{UserID: userID, ChannelID: channelID}
	p.fillView(c, p.rules.PairOrNone(ci, userID), &v, nil)
	return v, true
}

// fillView completes a view. If later is not nil, it leaves what must be read from the store to
// later.End.
func (p *Queries) fillView(c *state.Channel, r *state.Row, v *View, later *Views) {
	s := p.rules.ScopeOf(c, r)
	v.Member, v.Muted, v.Large = r.Flags&state.RowMember != 0, r.Flags&state.RowMuted != 0, c.Flags&state.ChannelLarge != 0
	v.ReadEpoch, v.Stamp = p.rules.RareOf(r).Marks+1, p.rules.StampOf(c, r)
	settings := p.rules.SettingsOf(r)
	v.Level, v.LevelAfter, v.Until, v.IgnoreAll = settings.Level(), settings.After(), settings.Until, settings.IgnoreAll
	v.Flagged = p.rules.Flagged(c, r, &settings)
	v.Filed = p.rules.Filed(c, r, &settings)
	v.Line, v.Labels = Ref{MessageID: settings.Line.ID, Seq: settings.Line.Seq}, settings.Labels
	p.fillLine(c, v, later)
	v.ChannelLabels, v.ChannelArchived = p.updatedTo(c)
	v.StillFiled = v.Filed.Holds(c.HeadPos)
	v.Archived = v.ChannelArchived || v.StillFiled
	p.fillLatest(c, &v.Latest, later)
	v.LastReadAt = p.fillLastRead(c, &s, &v.LastRead, later)
	if v.Member || r.Ord() == state.NoOrdinal {
		n := p.rules.CountsOf(c, r, &s)
		v.Unread, v.Mentions, v.DirectMentions, v.OfflineUnread = n.Unread, n.Mentions, n.Direct, p.rules.OfflineUnread(c, r, &s)
		p.fillFirst(c, &n, &v.FirstUnread, &v.FirstMention, later)
	}
	if v.Large {
		above := max(s.Pointer, r.Baseline)
		v.ReadPos = p.rules.PosAt(c, above)
		v.Excluded = p.rules.ExcludedOf(c, &s, above)
		v.Mentioned = p.rules.MentionedOf(c, r, above)
		v.Ask = p.rules.AskOf(c, r, &s, above)
	}
}

// fillLastRead sets the message up to which a user has read a scope, and returns when they did.
func (p *Queries) fillLastRead(c *state.Channel, s *rules.Scope, to *Ref, later *Views) (at int64) {
	if s.Pointer == 0 {
		return 0
	}
	p.ref(c, s.Pointer, to, later)
	return s.At
}

// fillFirst sets the first unread message and the first unread mention of a scope.
func (p *Queries) fillFirst(c *state.Channel, n *rules.Counts, unread, mention *Ref, later *Views) {
	if n.First > 0 {
		p.ref(c, n.First, unread, later)
	}
	if n.FirstMention > 0 {
		p.ref(c, n.FirstMention, mention, later)
	}
}

// fillLine completes the line of a view. A seq names the message there, whatever id the user gave
// with it.
func (p *Queries) fillLine(c *state.Channel, v *View, later *Views) {
	switch v.LineKnown = v.Line; {
	case v.Line.Seq != 0 && v.Line.Seq <= c.HeadSeq:
		v.LineKnown = Ref{}
		p.ref(c, v.Line.Seq, &v.LineKnown, later)
	case v.Line.Seq != 0 || v.Line.MessageID == "":
	case later != nil:
		later.wantSeq(c, []byte(v.Line.MessageID), &v.LineKnown)
	default:
		if e, ok := p.named(c, []byte(v.Line.MessageID)); ok {
			v.LineKnown.Seq = e.Seq
		}
	}
}

func (p *Queries) fillLatest(c *state.Channel, h *Head, later *Views) {
	if c.Latest == 0 {
		return
	}
	h.Pos = p.rules.PosAt(c, c.Latest)
	p.head(c, c.Latest, h, later)
}

// Channel describes a channel; false as in View.
func (p *Queries) Channel(channelID string) (ChannelView, bool) {
	_, c, ok := p.rules.KnownChannel(channelID)
	if !ok {
		return ChannelView{}, false
	}
	v := ChannelView{
		ChannelID: channelID, HeadSeq: c.HeadSeq, HeadPos: c.HeadPos, MemberCount: c.Members, Large: c.Flags&state.ChannelLarge != 0,
	}
	v.Labels, v.Archived = p.updatedTo(c)
	p.fillLatest(c, &v.Latest, nil)
	return v, true
}

// InboxEntry is the part of a View that an inbox needs to sort and sum channels.
type InboxEntry struct {
	ChannelID []byte // borrowed, valid during the call
	Unread    uint32
	Mentions  uint32
	Muted     bool
	LatestAt  int64     // Unix milliseconds; 0 = the channel has no live counted message
	Standing  *Standing // nil: no settings and no updates of the channel; only Sweep sets it
}

// Inbox calls fn for every channel of this partition that userID is a member of, in no particular
// order, until fn returns false. It allocates nothing per channel. It returns the error of a
// corrupt store.
func (p *Queries) Inbox(userID string, fn func(*InboxEntry) bool) error {
	u := p.rules.UserOf([]byte(userID))
	if u == 0 {
		return p.rules.Err()
	}
	var e InboxEntry
	for ref := p.rules.Users.At(u).First; ref != 0; {
		r := p.rules.Rows.At(ref)
		ref = r.NextUser
		if r.Flags&state.RowMember == 0 {
			continue
		}
		e = p.inboxEntry(p.rules.Channels.At(r.Channel), r)
		if !fn(&e) {
			break
		}
	}
	return p.rules.Err()
}

// LargeChannels calls fn with each large channel of this partition that userID is a member of, in
// no particular order, and perhaps with cold ones of which they no longer are. Messages there make
// no deltas for the user (DESIGN §7). LargeChannels reads only memory.
func (p *Queries) LargeChannels(userID string, fn func(channelID string)) {
	if u := p.rules.UserOf([]byte(userID)); u != 0 {
		for ref := p.rules.Users.At(u).First; ref != 0; {
			r := p.rules.Rows.At(ref)
			ref = r.NextUser
			if c := p.rules.Channels.At(r.Channel); r.Flags&state.RowMember != 0 && c.Flags&state.ChannelLarge != 0 {
				fn(string(p.rules.Blobs.Get(c.ID)))
			}
		}
	}
	p.rules.Cold.Each(UserHash(userID), func(_ uint32, c *cold.Channel) {
		if c.Large {
			fn(string(p.rules.Blobs.Get(c.ID)))
		}
	})
}

// inboxEntry returns the inbox entry of a channel that the row's user is a member of.
func (p *Queries) inboxEntry(c *state.Channel, r *state.Row) InboxEntry {
	s := p.rules.ScopeOf(c, r)
	n := p.rules.CountsOf(c, r, &s)
	return InboxEntry{
		ChannelID: p.rules.Blobs.Get(c.ID), Unread: n.Unread, Mentions: n.Mentions, Muted: r.Flags&state.RowMuted != 0, LatestAt: p.rules.LatestAt(c),
	}
}

// eventOf returns the record that put the pointer where it is. It leaves out a message that the next
// cut trims, so that answers do not depend on when cuts are made.
func (p *Queries) eventOf(c *state.Channel, s *rules.Scope) Event {
	if s.Ev&1 == 0 {
		return Event{Input: events.Reads, Offset: s.Ev >> 1}
	}
	e := p.rules.EntryAt(c, s.Pointer) // an own post
	if e.Trimmed || p.rules.IsDue(c, s.Pointer) {
		return Event{Gone: true}
	}
	return Event{Input: events.Messages, Offset: e.Offset}
}
