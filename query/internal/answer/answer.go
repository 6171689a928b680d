// Package answer converts views of a projection to messages of the query service.
//
//	answer.go   channels, explanations and receipts
//	threads.go  threads
package answer

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/queryv1"
)

// The lattice of DESIGN §4.5.
const (
	StatusSent      = "sent"
	StatusDelivered = "delivered"
	StatusRead      = "read"
)

// A Ref or Head with seq 0 means none and stays unset. Without an id it has left the index, and
// only its seq is known.

// Channel returns a user's view of a channel at a time, in Unix milliseconds.
func Channel(v *projections.View, now int64) *queryv1.ChannelUnread {
	standing := v.Standing()
	levels := standing.Levels.At(now)
	c := &queryv1.ChannelUnread{
		ChannelId:     v.ChannelID,
		Member:        v.Member,
		Unread:        v.Unread,
		Mentions:      v.Mentions,
		OfflineUnread: v.OfflineUnread,
		FirstUnread:   ref(v.FirstUnread),
		Latest:        Latest(&v.Latest),
		Muted:         levels.Level == events.LevelNone,
		ReadEpoch:     v.ReadEpoch,

		DirectMentions: v.DirectMentions, FirstMention: ref(v.FirstMention),
		Level: Level(levels.Level), LevelAfter: Level(levels.After), IgnoreMentionAll: v.IgnoreAll,
		Flagged: standing.Flagged, Archived: standing.Archived,
		Labels: standing.Labels(), OwnLabels: standing.OwnLabels, Line: ref(v.LineKnown),
	}
	if levels.Until != 0 {
		c.Until = Timestamp(levels.Until)
	}
	if v.StillFiled {
		c.Filed = &queryv1.Filed{Keep: v.Filed.Keep}
	}
	if v.LastRead.Seq > 0 {
		c.LastRead = &queryv1.LastRead{MessageId: v.LastRead.MessageID, Seq: v.LastRead.Seq, At: Timestamp(v.LastReadAt)}
	}
	return c
}

// ref returns a message reference, or nil.
func ref(r projections.Ref) *queryv1.MessageRef {
	if r == (projections.Ref{}) {
		return nil
	}
	return &queryv1.MessageRef{MessageId: r.MessageID, Seq: r.Seq}
}

// Level converts a level to the schema's enum, which has the same numbers.
func Level(l events.Level) eventsv1.NotifySet_Level { return eventsv1.NotifySet_Level(l) }

// LevelOf returns the level in an answer, or ALL for a level that this version does not have.
func LevelOf(l eventsv1.NotifySet_Level) events.Level {
	if l < 0 || int(l) >= int(events.NumLevels) {
		return events.LevelAll
	}
	return events.Level(l)
}

// Latest returns the newest message of a channel, or nil.
func Latest(h *projections.Head) *queryv1.Latest {
	if h.Seq == 0 {
		return nil
	}
	return &queryv1.Latest{
		MessageId: h.MessageID, Seq: h.Seq, At: Timestamp(h.At), SenderId: h.SenderID, Preview: h.Preview,
	}
}

// Explanation returns the explanation of a channel's count in a partition.
func Explanation(t *position.Topics, e *projections.Explanation, partition int32) *queryv1.ExplainUnreadResponse {
	r := &queryv1.ExplainUnreadResponse{
		Unread:     e.Unread,
		MessageIds: e.MessageIDs,
		Unnamed:    e.Unnamed,
		More:       e.More,
		Excluded: &queryv1.Excluded{
			Own: e.Excluded.Own, Deleted: e.Excluded.Deleted, Silent: e.Excluded.Silent, Thread: e.Excluded.Thread,
			ReadSingly: e.Excluded.ReadSingly, BeforeJoin: e.Excluded.BeforeJoin, Hidden: e.Excluded.Hidden,
		},
	}
	if e.Pointer.Seq > 0 {
		r.Pointer = &queryv1.Pointer{
			MessageId: e.Pointer.MessageID, Seq: e.Pointer.Seq,
		}
		if !e.Event.Gone {
			r.Pointer.Event = t.Token(e.Event.Input, partition, e.Event.Offset)
		}
		if e.PointerAt != 0 { // as in Thread
			r.Pointer.At = Timestamp(e.PointerAt)
		}
	}
	return r
}

// Timestamp is a time in Unix milliseconds.
func Timestamp(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }

// Receipts returns who has received and who has read a message.
func Receipts(v *projections.ReceiptsView) *queryv1.GetReceiptsResponse {
	res := &queryv1.GetReceiptsResponse{
		ChannelId: v.ChannelID, MessageId: v.MessageID, Seq: v.Seq, Status: StatusSent,
		RecipientCount: v.Recipients, DeliveredCount: v.Delivered, ReadCount: v.Read, ViewedCount: v.Viewed,
	}
	switch {
	case v.Recipients == 0:
	case v.Read == v.Recipients:
		res.Status = StatusRead
	case v.Delivered == v.Recipients:
		res.Status = StatusDelivered
	}
	for i := range v.List {
		x := &v.List[i]
		r := &queryv1.Recipient{UserId: x.UserID, Status: StatusSent}
		if x.Delivered {
			r.Status = StatusDelivered
			if x.DeliveredAt > 0 {
				r.DeliveredAt = Timestamp(x.DeliveredAt)
			}
		}
		if x.Read {
			r.Status = StatusRead
			if x.ReadAt > 0 {
				r.ReadAt = Timestamp(x.ReadAt)
			}
		}
		if x.Viewed && x.ViewedAt > 0 {
			r.ViewedAt = Timestamp(x.ViewedAt)
		}
		res.Recipients = append(res.Recipients, r)
	}
	return res
}

// Readers returns how far each member of a channel has read.
func Readers(v *projections.ReadersView) *queryv1.GetReadersResponse {
	res := &queryv1.GetReadersResponse{}
	for i := range v.List {
		x := &v.List[i]
		r := &queryv1.Reader{UserId: x.UserID, MessageId: x.Message.MessageID, Seq: x.Message.Seq}
		if x.Message.Seq > 0 {
			r.At = Timestamp(x.At)
		}
		res.Readers = append(res.Readers, r)
	}
	return res
}
