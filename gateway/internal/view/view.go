package view

import (
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Ref names a message; the zero Ref names none.
type Ref struct {
	ID  string
	Seq uint32
	At  int64 // Unix milliseconds; 0 if the source has no time
}

// Head is the newest counted message of a channel.
type Head struct {
	Ref
	Sender, Preview string
}

// HeadOf copies a head, whose memory belongs to the fetch.
func HeadOf(h *events.Head) Head {
	return Head{Ref{string(h.MessageID), h.Seq, h.At}, string(h.SenderID), string(h.Preview)}
}

// View is a user's view of a channel or a thread: the content of unread.updated.
type View struct {
	Channel, Thread string
	Member          bool // in a thread: followed
	Archived        bool // listed apart, in no total
	// Level is the notification level: as it was set, or the level after Until once Judge has
	// passed that. In a thread it is ALL, whatever its channel has.
	Level                     events.Level
	Unread, Mentions, offline uint32
	Direct                    uint32 // how many of Mentions name the user
	Epoch                     uint32
	First, Last               Ref
	Latest                    Head
	Details                   *Details // nil: empty
}

// OfDelta returns the user's view in a delta.
func OfDelta(d *events.UnreadDelta) View {
	v := View{
		Channel: string(d.ChannelID), Thread: string(d.ThreadID), Member: d.Member, Unread: d.Unread, Mentions: d.Mentions,
		Direct: d.DirectMentions, offline: d.OfflineUnread, First: refOf(&d.FirstUnread), Last: refOf(&d.LastRead), Latest: HeadOf(&d.Latest),
		Level: d.ChosenLevel(), Epoch: d.ReadEpoch,
	}
	v.Last.At = d.LastReadAt
	v.Details = detailsOfDelta(d)
	return v
}

// OfAnswer returns the view of a channel in an answer.
func OfAnswer(c *queryv1.ChannelUnread) View {
	v := View{
		Channel: c.ChannelId, Member: c.Member, Unread: c.Unread, Mentions: c.Mentions, Direct: c.DirectMentions, offline: c.OfflineUnread,
		Level: levelOf(c), Archived: c.Archived, Epoch: c.ReadEpoch, Details: detailsOfAnswer(c),
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

// Unlist changes v to a thread that the user's panel does not list, whatever is unread in it.
// Pointer and epoch stay, because reads and marks continue from there.
func (v *View) Unlist() {
	v.Member, v.Unread, v.Mentions, v.Direct, v.First = false, 0, 0, 0, Ref{}
	if v.Details != nil {
		v.Change(func(s *Details) { s.FirstMention = Ref{} })
	}
}

// Append appends the fields of v to an object that was begun. It leaves out messages without a seq.
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
		if v.Last.At != 0 { // otherwise a read of the channel with its threads put it there
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
	return v.appendDetails(b)
}

// Secret returns the channel whose members alone may see the view. It is empty if the view only
// states that the user is not a member, which they may see even if they came back and left again
// meanwhile.
func (v *View) Secret() string {
	if !v.Member {
		return ""
	}
	return v.Channel
}

// Same reports whether two views are equal.
func (v *View) Same(o *View) bool {
	a, b := *v, *o
	if (a.Details == nil) != (b.Details == nil) || a.Details != nil && *a.Details != *b.Details {
		return false
	}
	a.Details, b.Details = nil, nil
	return a == b
}

// Size returns the approximate length of the ids and texts of v.
func (v *View) Size() int {
	return len(v.Channel) + len(v.Thread) + len(v.First.ID) + len(v.Last.ID) + len(v.Latest.ID) + len(v.Latest.Sender) + len(v.Latest.Preview)
}

// AppendStamp writes the field stamp: fold_version.m.r.d.
func AppendStamp(b []byte, s *events.Stamp) []byte {
	return append(s.Append(append(frames.Key(b, "stamp"), '"')), '"')
}
