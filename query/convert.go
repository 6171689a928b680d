package query

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

// A Ref or Head with seq 0 is none and stays unset; one without an id has left the index and is told by its seq.

func channelUnread(v *projections.View) *queryv1.ChannelUnread {
	c := &queryv1.ChannelUnread{
		ChannelId:     v.ChannelID,
		Member:        v.Member,
		Unread:        v.Unread,
		Mentions:      v.Mentions,
		OfflineUnread: v.OfflineUnread,
		Latest:        latest(&v.Latest),
		Muted:         v.Muted,
		ReadEpoch:     v.ReadEpoch,
	}
	if v.FirstUnread.Seq > 0 {
		c.FirstUnread = &queryv1.MessageRef{MessageId: v.FirstUnread.MessageID, Seq: v.FirstUnread.Seq}
	}
	if v.LastRead.Seq > 0 {
		c.LastRead = &queryv1.LastRead{MessageId: v.LastRead.MessageID, Seq: v.LastRead.Seq, At: timestamp(v.LastReadAt)}
	}
	return c
}

func threadUnread(v *projections.ThreadView) *queryv1.ThreadUnread {
	t := &queryv1.ThreadUnread{
		ChannelId: v.ChannelID, ThreadId: v.ThreadID, Unread: v.Unread, Mentions: v.Mentions,
		LastReply: latest(&v.LastReply), ReadEpoch: v.ReadEpoch, Muted: v.Muted, Following: v.Following,
	}
	if v.FirstUnread.Seq > 0 {
		t.FirstUnread = &queryv1.MessageRef{MessageId: v.FirstUnread.MessageID, Seq: v.FirstUnread.Seq}
	}
	if v.LastRead.Seq > 0 {
		t.LastRead = &queryv1.LastRead{MessageId: v.LastRead.MessageID, Seq: v.LastRead.Seq, At: timestamp(v.LastReadAt)}
	}
	return t
}

func latest(h *projections.Head) *queryv1.Latest {
	if h.Seq == 0 {
		return nil
	}
	return &queryv1.Latest{
		MessageId: h.MessageID, Seq: h.Seq, At: timestamp(h.At), SenderId: h.SenderID, Preview: h.Preview,
	}
}

func (t *topicNames) explanation(e *projections.Explanation, partition int32) *queryv1.ExplainUnreadResponse {
	r := &queryv1.ExplainUnreadResponse{
		Unread:     e.Unread,
		MessageIds: e.MessageIDs,
		More:       e.More,
		Excluded: &queryv1.Excluded{
			Own: e.Excluded.Own, Deleted: e.Excluded.Deleted, Silent: e.Excluded.Silent, Thread: e.Excluded.Thread,
			ReadSingly: e.Excluded.ReadSingly, BeforeJoin: e.Excluded.BeforeJoin,
		},
	}
	if e.Pointer.Seq > 0 {
		r.Pointer = &queryv1.Pointer{
			MessageId: e.Pointer.MessageID, Seq: e.Pointer.Seq, At: timestamp(e.PointerAt),
			Event: t.token(e.Event.Input, partition, e.Event.Offset),
		}
	}
	return r
}

func timestamp(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }
