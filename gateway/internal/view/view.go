package view

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Ref names a message; the zero ref is none.
type Ref struct {
	ID  string
	Seq uint32
	At  int64 // Unix milliseconds; 0 where the source has no time
}

// Head is the newest message of a channel that counts.
type Head struct {
	Ref
	Sender, Preview string
}

// HeadOf copies a head, which borrows from the fetch.
func HeadOf(h *events.Head) Head {
	return Head{Ref{string(h.MessageID), h.Seq, h.At}, string(h.SenderID), string(h.Preview)}
}

// View is what a user sees of a channel or a thread: the content of unread.updated.
type View struct {
	Channel, Thread           string
	Member                    bool // of a thread: followed
	Unread, Mentions, offline uint32
	Direct                    uint32 // those of Mentions that name the user
	First, Last               Ref
	Latest                    Head
	// Level is how the channel enters the badge: as said, or since Judge passed Until as it is
	// after that. Of a thread: ALL, whatever its channel has.
	Level    events.Level
	Archived bool // listed apart, in no total
	Epoch    uint32
	Said     *Said // nil: nothing that is in it
}

// OfDelta returns the view of a user in a delta.
func OfDelta(d *events.UnreadDelta) View {
	v := View{
		Channel: string(d.ChannelID), Thread: string(d.ThreadID), Member: d.Member, Unread: d.Unread, Mentions: d.Mentions,
		Direct: d.DirectMentions, offline: d.OfflineUnread, First: refOf(&d.FirstUnread), Last: refOf(&d.LastRead), Latest: HeadOf(&d.Latest),
		Level: d.SaidLevel(), Epoch: d.ReadEpoch,
	}
	v.Last.At = d.LastReadAt
	v.Said = saidOfDelta(d)
	return v
}

// OfAnswer returns the view of a channel in an answer.
func OfAnswer(c *queryv1.ChannelUnread) View {
	v := View{
		Channel: c.ChannelId, Member: c.Member, Unread: c.Unread, Mentions: c.Mentions, Direct: c.DirectMentions, offline: c.OfflineUnread,
		Level: levelOf(c), Archived: c.Archived, Epoch: c.ReadEpoch, Said: saidOfAnswer(c),
	}
	if f := c.FirstUnread; f != nil {
		v.First = Ref{ID: f.MessageId, Seq: f.Seq}
	}
	if l := c.LastRead; l != nil {
		v.Last = Ref{l.MessageId, l.Seq, l.At.AsTime().UnixMilli()}
	}
	if l := c.Latest; l != nil {
		v.Latest = Head{Ref{l.MessageId, l.Seq, l.At.AsTime().UnixMilli()}, l.SenderId, l.Preview}
	}
	return v
}

// OfThread returns the view of a thread in an answer.
func OfThread(t *queryv1.ThreadUnread) View {
	v := OfAnswer(&queryv1.ChannelUnread{
		ChannelId: t.ChannelId, Member: t.Following, Unread: t.Unread, Mentions: t.Mentions, DirectMentions: t.DirectMentions, FirstUnread: t.FirstUnread,
		LastRead: t.LastRead, Latest: t.LastReply, ReadEpoch: t.ReadEpoch, FirstMention: t.FirstMention,
	})
	v.Thread = t.ThreadId
	return v
}

// Unlist makes v say of a thread that the user does not see it in their panel, whatever is unread
// in it. Pointer and epoch stay: reads and marks go on from there.
func (v *View) Unlist() {
	v.Member, v.Unread, v.Mentions, v.Direct, v.First = false, 0, 0, 0, Ref{}
	if v.Said != nil {
		v.Change(func(s *Said) { s.FirstMention = Ref{} })
	}
}

// Append writes the fields of v into an object that was begun. A message without a seq is none, and
// append leaves it out.
func (v *View) Append(b []byte, previews bool) []byte {
	b = frames.Text(b, "channel_id", v.Channel)
	if v.Thread != "" {
		b = frames.Text(b, "thread_id", v.Thread)
		b = frames.Bool(b, "followed", v.Member)
	} else {
		b = frames.Bool(b, "member", v.Member)
	}
	b = frames.Number(b, "unread", uint64(v.Unread))
	b = frames.Number(b, "mentions", uint64(v.Mentions))
	if v.Direct > 0 {
		b = frames.Number(b, "direct_mentions", uint64(v.Direct))
	}
	if v.Thread == "" {
		b = frames.Number(b, "offline_unread", uint64(v.offline))
	}
	if v.First.Seq > 0 {
		b = append(frames.Key(b, "first_unread"), '{')
		b = frames.Text(b, "message_id", v.First.ID)
		b = append(frames.Number(b, "seq", uint64(v.First.Seq)), '}')
	}
	if v.Last.Seq > 0 {
		b = append(frames.Key(b, "last_read"), '{')
		b = frames.Text(b, "message_id", v.Last.ID)
		b = frames.Number(b, "seq", uint64(v.Last.Seq))
		if v.Last.At != 0 { // else a read of the channel with its threads put it there
			b = frames.Instant(b, "at", v.Last.At)
		}
		b = append(b, '}')
	}
	if v.Latest.Seq > 0 {
		name := "latest"
		if v.Thread != "" {
			name = "last_reply"
		}
		b = append(frames.Key(b, name), '{')
		b = frames.Text(b, "message_id", v.Latest.ID)
		b = frames.Number(b, "seq", uint64(v.Latest.Seq))
		b = frames.Instant(b, "at", v.Latest.At)
		b = frames.Text(b, "sender_id", v.Latest.Sender)
		if previews {
			b = frames.Text(b, "preview", v.Latest.Preview)
		}
		b = append(b, '}')
	}
	if v.Thread == "" {
		b = frames.Bool(b, "muted", v.Level == events.LevelNone)
	}
	b = frames.Number(b, "read_epoch", uint64(v.Epoch))
	return v.appendSaid(b)
}

// Secret returns the channel whose members alone may see the view; empty if anybody may: those who
// have left are told that, also if they came back and left again meanwhile.
func (v *View) Secret() string {
	if !v.Member {
		return ""
	}
	return v.Channel
}

// Same reports whether two views say the same.
func (v *View) Same(o *View) bool {
	a, b := *v, *o
	if (a.Said == nil) != (b.Said == nil) || a.Said != nil && *a.Said != *b.Said {
		return false
	}
	a.Said, b.Said = nil, nil
	return a == b
}

// Size returns about how long the ids and texts of v are.
func (v *View) Size() int {
	return len(v.Channel) + len(v.Thread) + len(v.First.ID) + len(v.Last.ID) + len(v.Latest.ID) + len(v.Latest.Sender) + len(v.Latest.Preview)
}

// AppendStamp writes the field stamp: fold_version.m.r.d.
func AppendStamp(b []byte, s *events.Stamp) []byte {
	return append(s.Append(append(frames.Key(b, "stamp"), '"')), '"')
}
