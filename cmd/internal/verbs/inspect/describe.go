package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/letters"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
)

// RecordInfo is the printed form of a record. It never has the text of a message.
type RecordInfo struct {
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Time      time.Time `json:"time"`
	Key       string    `json:"key"`
	Bytes     int       `json:"bytes"` // of the value
	Kind      string    `json:"kind"`  // of the event or record; "bad", "tombstone", "unknown"
	What      string    `json:"what"`
}

// described has the topics whose records the verb can describe.
var described = append(slices.Clone(events.InputTopics[:]), events.TopicUnread, events.TopicChannels, events.TopicDeadLetters)

// recordDecoder describes records of all of Tidemark's topics.
type recordDecoder struct {
	decoder  events.Decoder
	message  events.Message
	read     events.Read
	delivery events.Delivery
	delta    events.UnreadDelta
	channel  events.ChannelRecord
}

func (d *recordDecoder) describe(r *kgo.Record) RecordInfo {
	info := RecordInfo{
		Partition: r.Partition, Offset: r.Offset, Time: r.Timestamp.UTC(), Bytes: len(r.Value),
		Key: strings.ReplaceAll(string(r.Key), "\x00", "|"),
	}
	millis := r.Timestamp.UnixMilli()
	var err error
	switch events.Unprefixed(r.Topic, described...) {
	case events.TopicMessages:
		if err = d.decoder.Message(r.Value, millis, &d.message); err == nil {
			info.Kind, info.What = d.message.Kind.String(), d.aboutMessage()
		}
	case events.TopicReads:
		if err = d.decoder.Read(r.Value, millis, &d.read); err == nil {
			info.Kind, info.What = d.read.Kind.String(), d.aboutRead()
		}
	case events.TopicDeliveries:
		if err = d.decoder.Delivery(r.Value, millis, &d.delivery); err == nil {
			v := &d.delivery
			info.Kind, info.What = v.Kind.String(), words("channel", v.ChannelID, "user", v.UserID, "message", v.MessageID, "up to", v.UpToID)
		}
	case events.TopicUnread:
		info.Kind, info.What = "unread", d.aboutDelta(r.Value, &err)
	case events.TopicChannels:
		info.Kind, info.What = "channel", d.aboutChannel(r.Value, &err)
	case events.TopicDeadLetters:
		l := letters.Of(r)
		info.Kind, info.What = "dead letter", fmt.Sprintf("%s from %s: %s", l.Reason, l.Origin(), l.Detail)
	default:
		info.Kind = "unknown"
	}
	if len(r.Value) == 0 {
		info.Kind, info.What = "tombstone", ""
	} else if err != nil {
		info.Kind, info.What = "bad", strings.TrimPrefix(err.Error(), "bad event: ")
	}
	return info
}

func (d *recordDecoder) aboutMessage() string {
	m := &d.message
	s := words("channel", m.ChannelID, "message", m.MessageID, "sender", m.SenderID, "thread", m.ThreadID)
	if len(m.IDs) > 0 {
		what := "mentions"
		if m.Kind == events.KindMembersJoined || m.Kind == events.KindMembersLeft {
			what = "users"
		}
		s += fmt.Sprintf(", %d %s", len(m.IDs), what)
	}
	for _, f := range []struct {
		is   bool
		name string
	}{{m.Silent, "silent"}, {m.Broadcast, "broadcast"}, {m.MentionAll, "mentions all"}, {m.CountHistory, "history counts"}} {
		if f.is {
			s += ", " + f.name
		}
	}
	return s
}

func (d *recordDecoder) aboutRead() string {
	r := &d.read
	s := words("channel", r.ChannelID, "user", r.UserID, "message", r.MessageID, "thread", r.ThreadID)
	switch {
	case r.Target == events.TargetSeq:
		s += fmt.Sprintf(", seq %d", r.Seq)
	case r.Target == events.TargetTime:
		s += ", time " + time.UnixMilli(r.TargetTime).UTC().Format(time.RFC3339Nano)
	case len(r.IDs) > 0:
		s += ", " + term.Plural(len(r.IDs), "message")
	case r.Kind == events.KindChannelMuted:
		s += fmt.Sprintf(", muted %t", r.Muted)
	}
	if r.ReadEpoch > 0 {
		s += fmt.Sprintf(", epoch %d", r.ReadEpoch)
	}
	return s
}

func (d *recordDecoder) aboutDelta(value []byte, err *error) string {
	if *err = events.DecodeUnreadDelta(value, &d.delta); *err != nil {
		return ""
	}
	u := &d.delta
	s := words("user", u.UserID, "channel", u.ChannelID, "thread", u.ThreadID)
	if u.Large {
		s += ", large"
	} else {
		s += fmt.Sprintf(", unread %d, mentions %d", u.Unread, u.Mentions)
	}
	if !u.Member {
		s += ", no member"
	}
	return s + ", stamp " + u.Stamp.String()
}

func (d *recordDecoder) aboutChannel(value []byte, err *error) string {
	if *err = events.DecodeChannelRecord(value, &d.channel); *err != nil {
		return ""
	}
	c := &d.channel
	s := words("channel", c.ChannelID) + fmt.Sprintf(", head %d (pos %d), %d members", c.HeadSeq, c.HeadPos, c.MemberCount)
	if c.Large {
		s += ", large"
	}
	if c.Deleted {
		s += ", deleted"
	}
	return s + ", stamp " + c.Stamp.String()
}

// words joins pairs of a name and an id, leaving out those without one.
func words(pairs ...any) string {
	var parts []string
	for i := 0; i+1 < len(pairs); i += 2 {
		if id, ok := pairs[i+1].([]byte); ok && len(id) > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", pairs[i], id))
		}
	}
	return strings.Join(parts, ", ")
}
