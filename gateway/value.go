package gateway

import (
	"strconv"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

// ref names a message; the zero ref is none.
type ref struct {
	id  string
	seq uint32
	at  int64 // Unix milliseconds; of what has a time
}

func refOf(r *events.Ref) ref { return ref{id: string(r.MessageID), seq: r.Seq} }

// head is the newest live counted message of a channel.
type head struct {
	ref
	sender, preview string
}

func headOf(h *events.Head) head {
	return head{ref{string(h.MessageID), h.Seq, h.At}, string(h.SenderID), string(h.Preview)}
}

// view is what a user sees of a channel or of a thread: the content of unread.updated.
type view struct {
	channel, thread           string
	member                    bool // of a thread: followed
	unread, mentions, offline uint32
	first, last               ref
	latest                    head
	muted                     bool
	epoch                     uint32
}

func viewOf(d *events.UnreadDelta) view {
	v := view{
		channel: string(d.ChannelID), thread: string(d.ThreadID), member: d.Member, unread: d.Unread, mentions: d.Mentions,
		offline: d.OfflineUnread, first: refOf(&d.FirstUnread), last: refOf(&d.LastRead), latest: headOf(&d.Latest),
		muted: d.Muted, epoch: d.ReadEpoch,
	}
	v.last.at = d.LastReadAt
	return v
}

func viewOfAnswer(c *queryv1.ChannelUnread) view {
	v := view{
		channel: c.ChannelId, member: c.Member, unread: c.Unread, mentions: c.Mentions, offline: c.OfflineUnread,
		muted: c.Muted, epoch: c.ReadEpoch,
	}
	if f := c.FirstUnread; f != nil {
		v.first = ref{id: f.MessageId, seq: f.Seq}
	}
	if l := c.LastRead; l != nil {
		v.last = ref{l.MessageId, l.Seq, l.At.AsTime().UnixMilli()}
	}
	if l := c.Latest; l != nil {
		v.latest = head{ref{l.MessageId, l.Seq, l.At.AsTime().UnixMilli()}, l.SenderId, l.Preview}
	}
	return v
}

func viewOfThread(t *queryv1.ThreadUnread) view {
	v := viewOfAnswer(&queryv1.ChannelUnread{
		ChannelId: t.ChannelId, Member: t.Following, Unread: t.Unread, Mentions: t.Mentions, FirstUnread: t.FirstUnread,
		LastRead: t.LastRead, Latest: t.LastReply, Muted: t.Muted, ReadEpoch: t.ReadEpoch,
	})
	v.thread = t.ThreadId
	return v
}

// append writes the fields of v into an object that was begun. Ids that have left the index and times that do not exist
// are left out; a message that is none is left out as a whole.
func (v *view) append(b []byte, previews bool) []byte {
	b = text(b, "channel_id", v.channel)
	if v.thread != "" {
		b = text(b, "thread_id", v.thread)
		b = boolean(b, "followed", v.member)
	} else {
		b = boolean(b, "member", v.member)
	}
	b = number(b, "unread", uint64(v.unread))
	b = number(b, "mentions", uint64(v.mentions))
	if v.thread == "" {
		b = number(b, "offline_unread", uint64(v.offline))
	}
	if v.first.seq > 0 {
		b = append(key(b, "first_unread"), '{')
		b = text(b, "message_id", v.first.id)
		b = append(number(b, "seq", uint64(v.first.seq)), '}')
	}
	if v.last.seq > 0 {
		b = append(key(b, "last_read"), '{')
		b = text(b, "message_id", v.last.id)
		b = number(b, "seq", uint64(v.last.seq))
		b = append(instant(b, "at", v.last.at), '}')
	}
	if v.latest.seq > 0 {
		name := "latest"
		if v.thread != "" {
			name = "last_reply"
		}
		b = append(key(b, name), '{')
		b = text(b, "message_id", v.latest.id)
		b = number(b, "seq", uint64(v.latest.seq))
		b = instant(b, "at", v.latest.at)
		b = text(b, "sender_id", v.latest.sender)
		if previews {
			b = text(b, "preview", v.latest.preview)
		}
		b = append(b, '}')
	}
	if v.thread == "" {
		b = boolean(b, "muted", v.muted)
	}
	return number(b, "read_epoch", uint64(v.epoch))
}

// appendStamp writes a stamp as fold_version.m.r.d.
func appendStamp(b []byte, s *events.Stamp) []byte {
	b = append(key(b, "stamp"), '"')
	b = strconv.AppendUint(b, uint64(s.FoldVersion), 10)
	for _, n := range [...]int64{s.M, s.R, s.D} {
		b = strconv.AppendInt(append(b, '.'), n, 10)
	}
	return append(b, '"')
}

// totals sum up what a user sees, without muted channels and their threads.
type totals struct {
	unread, mentions, channels   uint64
	threadUnread, threadMentions uint64
}

func (t *totals) append(b []byte) []byte {
	b = append(key(b, "totals"), '{')
	b = number(b, "unread", t.unread)
	b = number(b, "mentions", t.mentions)
	b = number(b, "unread_channels", t.channels)
	b = number(b, "thread_unread", t.threadUnread)
	return append(number(b, "thread_mentions", t.threadMentions), '}')
}

// position says how far each partition's inputs were folded into an answer: next offsets, as in stamps.
type position map[int32]events.Stamp

// add reads the tokens of an as_of. Tokens come from the query service and name the last record folded.
func (p position) add(t *Topics, tokens []string) {
	for _, token := range tokens {
		i := strings.LastIndexByte(token, '/')
		j := strings.LastIndexByte(token[:max(i, 0)], '/')
		if j < 0 {
			continue
		}
		offset, err := strconv.ParseInt(token[i+1:], 10, 64)
		number, err2 := strconv.ParseInt(token[j+1:i], 10, 32)
		if err != nil || err2 != nil {
			continue
		}
		s := p[int32(number)]
		switch token[:j] {
		case t.Messages:
			s.M = max(s.M, offset+1)
		case t.Reads:
			s.R = max(s.R, offset+1)
		case t.Deliveries:
			s.D = max(s.D, offset+1)
		}
		p[int32(number)] = s
	}
}

// covers reports whether a state at s includes everything that a delta with stamp d says.
func covers(s, d *events.Stamp) bool { return s.M >= d.M && s.R >= d.R && s.D >= d.D }
