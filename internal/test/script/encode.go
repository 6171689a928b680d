package script

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
)

// Value returns the event in Protobuf, as a producer writes it to the topic of r.Input. A decoder
// with the record's timestamp decodes it to the same event.
func (r *Record) Value() ([]byte, error) {
	var m proto.Message
	switch r.Input {
	case events.Messages:
		m = messageProto(r.Message)
	case events.Reads:
		m = readProto(r.Read)
	default:
		m = deliveryProto(r.Delivery)
	}
	events.StateVersion(m)
	value, err := proto.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %q as Protobuf: %w", Format(r), err)
	}
	return value, nil
}

// Key returns the key of the record: the channel.
func (r *Record) Key() []byte {
	switch r.Input {
	case events.Messages:
		return r.Message.ChannelID
	case events.Reads:
		return r.Read.ChannelID
	default:
		return r.Delivery.ChannelID
	}
}

func messageProto(m *events.Message) *eventsv1.MessageEvent {
	e := &eventsv1.MessageEvent{ChannelId: string(m.ChannelID), OccurredAt: at(m.OccurredAt)}
	switch m.Kind {
	case events.KindMessagePosted:
		e.Kind = &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{
			MessageId: string(m.MessageID), SenderId: string(m.SenderID), Preview: string(m.Preview), ThreadId: string(m.ThreadID),
			Broadcast: m.Broadcast, Silent: m.Silent, Mentions: strs(m.IDs), MentionAll: m.MentionAll, MemberCount: m.MemberCount,
			HiddenFrom: strs(m.HiddenFrom), MarksRead: optional(m.MarksRead),
		}}
	case events.KindMessageEdited:
		e.Kind = &eventsv1.MessageEvent_MessageEdited{MessageEdited: &eventsv1.MessageEdited{
			MessageId: string(m.MessageID), Preview: string(m.Preview), Mentions: strs(m.IDs), MentionAll: m.MentionAll,
			KeepMentions: m.KeepMentions,
		}}
	case events.KindMessageDeleted:
		e.Kind = &eventsv1.MessageEvent_MessageDeleted{MessageDeleted: &eventsv1.MessageDeleted{
			MessageId: string(m.MessageID), Seq: m.Seq,
		}}
	case events.KindMessagesPurged:
		p := &eventsv1.MessagesPurged{}
		switch m.Target {
		case events.TargetSeq:
			p.Target = &eventsv1.MessagesPurged_UpToSeq{UpToSeq: m.Seq}
		case events.TargetTime:
			p.Target = &eventsv1.MessagesPurged_UpToTime{UpToTime: at(m.TargetTime)}
		default:
			p.Target = &eventsv1.MessagesPurged_UpToMessageId{UpToMessageId: string(m.MessageID)}
		}
		e.Kind = &eventsv1.MessageEvent_MessagesPurged{MessagesPurged: p}
	case events.KindMembersJoined:
		e.Kind = &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{
			UserIds: strs(m.IDs), CountHistory: m.CountHistory,
		}}
	case events.KindMembersLeft:
		e.Kind = &eventsv1.MessageEvent_MembersLeft{MembersLeft: &eventsv1.MembersLeft{UserIds: strs(m.IDs)}}
	case events.KindMessagesSeeded:
		e.Kind = &eventsv1.MessageEvent_MessagesSeeded{MessagesSeeded: &eventsv1.MessagesSeeded{Count: m.Count}}
	case events.KindChannelUpdated:
		e.Kind = &eventsv1.MessageEvent_ChannelUpdated{ChannelUpdated: &eventsv1.ChannelUpdated{Labels: strs(m.IDs), Archived: m.Archived}}
	case events.KindChannelDeleted:
		e.Kind = &eventsv1.MessageEvent_ChannelDeleted{ChannelDeleted: &eventsv1.ChannelDeleted{}}
	}
	return e
}

func readProto(r *events.Read) *eventsv1.ReadEvent {
	e := &eventsv1.ReadEvent{
		ChannelId: string(r.ChannelID), UserId: string(r.UserID), InstanceId: string(r.InstanceID), OccurredAt: at(r.OccurredAt),
	}
	switch r.Kind {
	case events.KindReadUpTo:
		u := &eventsv1.ReadUpTo{ThreadId: string(r.ThreadID), ReadEpoch: r.ReadEpoch, Private: r.Private, WithThreads: r.WithThreads}
		switch r.Target {
		case events.TargetSeq:
			u.Target = &eventsv1.ReadUpTo_Seq{Seq: r.Seq}
		case events.TargetTime:
			u.Target = &eventsv1.ReadUpTo_Time{Time: at(r.TargetTime)}
		default:
			u.Target = &eventsv1.ReadUpTo_MessageId{MessageId: string(r.MessageID)}
		}
		e.Kind = &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: u}
	case events.KindMessagesRead:
		e.Kind = &eventsv1.ReadEvent_MessagesRead{MessagesRead: &eventsv1.MessagesRead{
			MessageIds: strs(r.IDs), ReadEpoch: r.ReadEpoch, Private: r.Private, ThreadId: string(r.ThreadID),
		}}
	case events.KindMarkedUnread:
		e.Kind = &eventsv1.ReadEvent_MarkedUnread{MarkedUnread: &eventsv1.MarkedUnread{
			MessageId: string(r.MessageID), ThreadId: string(r.ThreadID), HeadMessageId: string(r.HeadMessageID), HeadSeq: r.HeadSeq,
			Seq: r.Seq,
		}}
	case events.KindThreadFollowed:
		e.Kind = &eventsv1.ReadEvent_ThreadFollowed{ThreadFollowed: &eventsv1.ThreadFollowed{ThreadId: string(r.ThreadID)}}
	case events.KindThreadUnfollowed:
		e.Kind = &eventsv1.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: &eventsv1.ThreadUnfollowed{ThreadId: string(r.ThreadID)}}
	case events.KindChannelMuted:
		e.Kind = &eventsv1.ReadEvent_ChannelMuted{ChannelMuted: &eventsv1.ChannelMuted{Muted: r.Muted}}
	case events.KindUserErased:
		e.Kind = &eventsv1.ReadEvent_UserErased{UserErased: &eventsv1.UserErased{}}
	default:
		moreProto(r, e)
	}
	return e
}

func deliveryProto(d *events.Delivery) *eventsv1.DeliveryEvent {
	e := &eventsv1.DeliveryEvent{ChannelId: string(d.ChannelID), UserId: string(d.UserID), OccurredAt: at(d.OccurredAt)}
	if d.Kind == events.KindQueued {
		e.Kind = &eventsv1.DeliveryEvent_Queued{Queued: &eventsv1.Queued{MessageId: string(d.MessageID)}}
		return e
	}
	got := &eventsv1.Delivered{DeviceId: string(d.DeviceID)}
	if len(d.UpToID) > 0 {
		got.Target = &eventsv1.Delivered_UpToMessageId{UpToMessageId: string(d.UpToID)}
	} else {
		got.Target = &eventsv1.Delivered_MessageId{MessageId: string(d.MessageID)}
	}
	e.Kind = &eventsv1.DeliveryEvent_Delivered{Delivered: got}
	return e
}

// moreProto sets the kind of a read of DESIGN §4.7.
func moreProto(r *events.Read, e *eventsv1.ReadEvent) {
	switch r.Kind {
	case events.KindNotifySet:
		n := &eventsv1.NotifySet{Level: eventsv1.NotifySet_Level(r.Level), IgnoreMentionAll: optional(r.IgnoreAll)}
		if r.Until != 0 {
			n.Until = at(r.Until)
		}
		e.Kind = &eventsv1.ReadEvent_NotifySet{NotifySet: n}
	case events.KindFlagSet:
		e.Kind = &eventsv1.ReadEvent_FlagSet{FlagSet: &eventsv1.FlagSet{Flagged: r.Flagged, HeadSeq: r.HeadSeq}}
	case events.KindChannelFiled:
		e.Kind = &eventsv1.ReadEvent_ChannelFiled{ChannelFiled: &eventsv1.ChannelFiled{
			Archived: r.Archived, Keep: r.Keep, HeadSeq: r.HeadSeq,
		}}
	case events.KindMessagesHidden:
		e.Kind = &eventsv1.ReadEvent_MessagesHidden{MessagesHidden: &eventsv1.MessagesHidden{MessageIds: strs(r.IDs), UpToSeq: r.Seq}}
	case events.KindLineSet:
		l := &eventsv1.LineSet{Target: &eventsv1.LineSet_MessageId{MessageId: string(r.MessageID)}}
		if r.Target == events.TargetSeq {
			l.Target = &eventsv1.LineSet_Seq{Seq: r.Seq}
		}
		e.Kind = &eventsv1.ReadEvent_LineSet{LineSet: l}
	case events.KindMessagesViewed:
		e.Kind = &eventsv1.ReadEvent_MessagesViewed{MessagesViewed: &eventsv1.MessagesViewed{MessageIds: strs(r.IDs)}}
	case events.KindLabelsSet:
		e.Kind = &eventsv1.ReadEvent_LabelsSet{LabelsSet: &eventsv1.LabelsSet{Labels: strs(r.IDs)}}
	}
}

func at(ms int64) *timestamppb.Timestamp { return timestamppb.New(time.UnixMilli(ms)) }

func strs(ids [][]byte) []string {
	var out []string
	for _, id := range ids {
		out = append(out, string(id))
	}
	return out
}

func optional(c events.Choice) *bool {
	if c == events.NotStated {
		return nil
	}
	return proto.Bool(c == events.Yes)
}
