package events_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func TestReadFields(t *testing.T) {
	want := []events.Read{
		{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("m1"), ThreadID: []byte("m0"), ReadEpoch: 2, Private: true},
		{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 300},
		{Kind: events.KindReadUpTo, Target: events.TargetTime, TargetTime: record - 7},
		{Kind: events.KindMessagesRead, IDs: texts("m1", "m2"), ReadEpoch: 2, Private: true, ThreadID: []byte("m0")},
		{Kind: events.KindMarkedUnread, MessageID: []byte("m1"), ThreadID: []byte("m0"), HeadMessageID: []byte("m9"), HeadSeq: 9},
		{Kind: events.KindThreadFollowed, ThreadID: []byte("m0")},
		{Kind: events.KindThreadUnfollowed, ThreadID: []byte("m0")},
		{Kind: events.KindChannelMuted, Muted: true},
		{Kind: events.KindUserErased},
	}
	samples := sampleReads()
	if len(samples) != len(want) {
		t.Fatalf("%d samples, %d expectations", len(samples), len(want))
	}
	var d events.Decoder
	var r events.Read
	for i, sample := range samples {
		w := want[i]
		w.ChannelID, w.UserID, w.InstanceID, w.OccurredAt = []byte("c1"), []byte("u1"), []byte("phone"), record-1000
		if err := d.Read(mustMarshal(t, sample), record, &r); err != nil {
			t.Fatal(err)
		}
		equal(t, r, w)
	}
}

func TestReadRefused(t *testing.T) {
	mutated := func(fn func(*pb.ReadEvent)) *pb.ReadEvent {
		e := read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 1}})
		fn(e)
		return e
	}
	bad := map[string]badEvent{
		"no kind":          {read(nil), events.ReasonNoKind, ""},
		"no channel":       {mutated(func(e *pb.ReadEvent) { e.ChannelId = "" }), events.ReasonInvalidID, "channel_id"},
		"no user":          {mutated(func(e *pb.ReadEvent) { e.UserId = "" }), events.ReasonInvalidID, "user_id"},
		"bad instance":     {mutated(func(e *pb.ReadEvent) { e.InstanceId = "\x1b[2J" }), events.ReasonInvalidID, "instance_id"},
		"newer":            {mutated(func(e *pb.ReadEvent) { e.MinVersion = 2 }), events.ReasonNewerVersion, "min_version"},
		"nanos":            {mutated(func(e *pb.ReadEvent) { e.OccurredAt.Nanos = 1e9 }), events.ReasonInvalidTime, "occurred_at"},
		"no target":        {read(&pb.ReadUpTo{ReadEpoch: 1}), events.ReasonNoTarget, "read_up_to"},
		"target seq 0":     {read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{}}), events.ReasonZeroSeq, "read_up_to.seq"},
		"target empty id":  {read(&pb.ReadUpTo{Target: &pb.ReadUpTo_MessageId{}}), events.ReasonInvalidID, "read_up_to.message_id"},
		"read no message":  {read(&pb.MessagesRead{ThreadId: "t"}), events.ReasonNoTarget, "messages_read.message_ids"},
		"read bad message": {read(&pb.MessagesRead{MessageIds: []string{"m", "\r"}}), events.ReasonInvalidID, "messages_read.message_ids[1]"},
		"read in bad thread": {read(&pb.MessagesRead{MessageIds: []string{"m"}, ThreadId: "\r"}),
			events.ReasonInvalidID, "messages_read.thread_id"},
		"pointer in bad thread": {read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 1}, ThreadId: "\r"}),
			events.ReasonInvalidID, "read_up_to.thread_id"},
		"mark without message":    {read(&pb.MarkedUnread{HeadSeq: 3}), events.ReasonInvalidID, "marked_unread.message_id"},
		"mark in bad thread":      {read(&pb.MarkedUnread{MessageId: "m", ThreadId: "\r"}), events.ReasonInvalidID, "marked_unread.thread_id"},
		"mark with bad head":      {read(&pb.MarkedUnread{MessageId: "m", HeadMessageId: "\r"}), events.ReasonInvalidID, "marked_unread.head_message_id"},
		"follow without thread":   {read(&pb.ThreadFollowed{}), events.ReasonInvalidID, "thread_followed.thread_id"},
		"unfollow without thread": {read(&pb.ThreadUnfollowed{}), events.ReasonInvalidID, "thread_unfollowed.thread_id"},
	}
	var d events.Decoder
	var r events.Read
	for name, want := range bad {
		t.Run(name, func(t *testing.T) {
			value := mustMarshal(t, want.event)
			checkBad(t, value, d.Read(value, record, &r), want)
		})
	}
}

// Of a target that is stated twice the last member stands, and the fields beside it are merged.
func TestReadTargetLastWins(t *testing.T) {
	value := append(mustMarshal(t, read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 4}})),
		mustMarshal(t, &pb.ReadEvent{Kind: &pb.ReadEvent_ReadUpTo{ReadUpTo: &pb.ReadUpTo{
			Target: &pb.ReadUpTo_MessageId{MessageId: "m7"}, Private: true}}})...)
	var d events.Decoder
	var r events.Read
	if err := d.Read(value, record, &r); err != nil {
		t.Fatal(err)
	}
	equal(t, r, events.Read{Kind: events.KindReadUpTo, ChannelID: []byte("c1"), UserID: []byte("u1"), InstanceID: []byte("phone"),
		OccurredAt: record - 1000, Target: events.TargetMessageID, MessageID: []byte("m7"), Private: true})
}
