package events_test

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// at returns a time relative to the record's timestamp, in milliseconds.
func at(delta int64) *timestamppb.Timestamp {
	ms := record + delta
	return &timestamppb.Timestamp{Seconds: ms / 1000, Nanos: int32(ms%1000) * 1_000_000}
}

// message fills in what every good event of chat.messages has.
func message(kind any) *pb.MessageEvent {
	e := &pb.MessageEvent{ChannelId: "c1", OccurredAt: at(-1000)}
	switch k := kind.(type) {
	case *pb.MessagePosted:
		e.Kind = &pb.MessageEvent_MessagePosted{MessagePosted: k}
	case *pb.MessageEdited:
		e.Kind = &pb.MessageEvent_MessageEdited{MessageEdited: k}
	case *pb.MessageDeleted:
		e.Kind = &pb.MessageEvent_MessageDeleted{MessageDeleted: k}
	case *pb.MessagesPurged:
		e.Kind = &pb.MessageEvent_MessagesPurged{MessagesPurged: k}
	case *pb.MembersJoined:
		e.Kind = &pb.MessageEvent_MembersJoined{MembersJoined: k}
	case *pb.MembersLeft:
		e.Kind = &pb.MessageEvent_MembersLeft{MembersLeft: k}
	case *pb.MessagesSeeded:
		e.MinVersion, e.Kind = 2, &pb.MessageEvent_MessagesSeeded{MessagesSeeded: k}
	case *pb.ChannelDeleted:
		e.Kind = &pb.MessageEvent_ChannelDeleted{ChannelDeleted: k}
	case *pb.ChannelUpdated:
		e.Kind = &pb.MessageEvent_ChannelUpdated{ChannelUpdated: k}
	}
	return e
}

// read fills in what every good event of chat.reads has.
func read(kind any) *pb.ReadEvent {
	e := &pb.ReadEvent{ChannelId: "c1", UserId: "u1", OccurredAt: at(-1000), InstanceId: "phone"}
	switch k := kind.(type) {
	case *pb.ReadUpTo:
		e.Kind = &pb.ReadEvent_ReadUpTo{ReadUpTo: k}
	case *pb.MessagesRead:
		e.Kind = &pb.ReadEvent_MessagesRead{MessagesRead: k}
	case *pb.MarkedUnread:
		e.Kind = &pb.ReadEvent_MarkedUnread{MarkedUnread: k}
	case *pb.ThreadFollowed:
		e.Kind = &pb.ReadEvent_ThreadFollowed{ThreadFollowed: k}
	case *pb.ThreadUnfollowed:
		e.Kind = &pb.ReadEvent_ThreadUnfollowed{ThreadUnfollowed: k}
	case *pb.ChannelMuted:
		e.Kind = &pb.ReadEvent_ChannelMuted{ChannelMuted: k}
	case *pb.UserErased:
		e.Kind = &pb.ReadEvent_UserErased{UserErased: k}
	case *pb.NotifySet:
		e.Kind = &pb.ReadEvent_NotifySet{NotifySet: k}
	case *pb.FlagSet:
		e.Kind = &pb.ReadEvent_FlagSet{FlagSet: k}
	case *pb.ChannelFiled:
		e.Kind = &pb.ReadEvent_ChannelFiled{ChannelFiled: k}
	case *pb.MessagesHidden:
		e.Kind = &pb.ReadEvent_MessagesHidden{MessagesHidden: k}
	case *pb.LineSet:
		e.Kind = &pb.ReadEvent_LineSet{LineSet: k}
	case *pb.MessagesViewed:
		e.Kind = &pb.ReadEvent_MessagesViewed{MessagesViewed: k}
	case *pb.LabelsSet:
		e.Kind = &pb.ReadEvent_LabelsSet{LabelsSet: k}
	}
	return e
}

// delivery fills in what every good event of chat.deliveries has.
func delivery(kind any) *pb.DeliveryEvent {
	e := &pb.DeliveryEvent{ChannelId: "c1", UserId: "u1", OccurredAt: at(-1000)}
	switch k := kind.(type) {
	case *pb.Delivered:
		e.Kind = &pb.DeliveryEvent_Delivered{Delivered: k}
	case *pb.Queued:
		e.Kind = &pb.DeliveryEvent_Queued{Queued: k}
	}
	return e
}

func sampleMessages() []proto.Message {
	return []proto.Message{
		message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", Preview: "Grüße, 世界", ThreadId: "m0", Broadcast: true,
			Mentions: []string{"u2", "u3"}, MentionAll: true, MemberCount: 300}),
		message(&pb.MessagePosted{MessageId: "01JA3M9ZC0QK2V5T7W8X9Y0ZAB", SenderId: "01JA3M9ZC0QK2V5T7W8X9Y0ZAC", Preview: "hi"}),
		message(&pb.MessagePosted{MessageId: "m1", Silent: true}),
		message(&pb.MessageEdited{MessageId: "m1", Preview: "b", Mentions: []string{"u4"}, MentionAll: true, KeepMentions: true}),
		message(&pb.MessageDeleted{MessageId: "m1", Seq: 70000}),
		message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToMessageId{UpToMessageId: "m1"}}),
		message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToSeq{UpToSeq: 3}}),
		message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToTime{UpToTime: at(-5)}}),
		message(&pb.MembersJoined{UserIds: []string{"u1", "u2"}, CountHistory: true}),
		message(&pb.MembersLeft{UserIds: []string{"u1"}}),
		message(&pb.ChannelDeleted{}),
		message(&pb.MessagesSeeded{Count: 70000}),
		message(&pb.MessageDeleted{Seq: 3}),
		message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", HiddenFrom: []string{"u2", "u3"}, MarksRead: proto.Bool(false)}),
		message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", MarksRead: proto.Bool(true)}),
		message(&pb.ChannelUpdated{Labels: []string{"acme", "Größe L"}, Archived: true}),
		message(&pb.ChannelUpdated{}),
	}
}

func sampleReads() []proto.Message {
	return []proto.Message{
		read(&pb.ReadUpTo{Target: &pb.ReadUpTo_MessageId{MessageId: "m1"}, ThreadId: "m0", ReadEpoch: 2, Private: true}),
		read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 300}}),
		read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Time{Time: at(-7)}}),
		read(&pb.MessagesRead{MessageIds: []string{"m1", "m2"}, ReadEpoch: 2, Private: true, ThreadId: "m0"}),
		read(&pb.MarkedUnread{MessageId: "m1", ThreadId: "m0", HeadMessageId: "m9", HeadSeq: 9}),
		read(&pb.MarkedUnread{Seq: 3, HeadSeq: 9}),
		read(&pb.ThreadFollowed{ThreadId: "m0"}),
		read(&pb.ThreadUnfollowed{ThreadId: "m0"}),
		read(&pb.ChannelMuted{Muted: true}),
		read(&pb.UserErased{}),
		read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 300}, Private: true, WithThreads: true}),
		read(&pb.NotifySet{Level: pb.NotifySet_MENTIONS, Until: at(86_400_000), IgnoreMentionAll: proto.Bool(true)}),
		read(&pb.NotifySet{Level: pb.NotifySet_NONE, IgnoreMentionAll: proto.Bool(false)}),
		read(&pb.NotifySet{Until: &timestamppb.Timestamp{}}),
		read(&pb.FlagSet{Flagged: true, HeadSeq: 9}),
		read(&pb.FlagSet{}),
		read(&pb.ChannelFiled{Archived: true, Keep: true, HeadSeq: 9}),
		read(&pb.ChannelFiled{}),
		read(&pb.MessagesHidden{MessageIds: []string{"m1", "m2"}, UpToSeq: 7}),
		read(&pb.MessagesHidden{UpToSeq: 7}),
		read(&pb.LineSet{Target: &pb.LineSet_MessageId{MessageId: "m1"}}),
		read(&pb.LineSet{Target: &pb.LineSet_Seq{Seq: 7}}),
		read(&pb.MessagesViewed{MessageIds: []string{"m1", "m2"}}),
		read(&pb.LabelsSet{Labels: []string{"work", "pinned"}}),
		read(&pb.LabelsSet{}),
	}
}

func sampleDeliveries() []proto.Message {
	return []proto.Message{
		delivery(&pb.Delivered{Target: &pb.Delivered_MessageId{MessageId: "m1"}, DeviceId: "d1"}),
		delivery(&pb.Delivered{Target: &pb.Delivered_UpToMessageId{UpToMessageId: "m1"}}),
		delivery(&pb.Queued{MessageId: "m1"}),
	}
}
