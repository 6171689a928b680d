package events_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

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
		{Kind: events.KindMarkedUnread, Seq: 3, HeadSeq: 9},
		{Kind: events.KindThreadFollowed, ThreadID: []byte("m0")},
		{Kind: events.KindThreadUnfollowed, ThreadID: []byte("m0")},
		{Kind: events.KindChannelMuted, Muted: true},
		{Kind: events.KindUserErased},
		{Kind: events.KindReadUpTo, Target: events.TargetSeq, Seq: 300, Private: true, WithThreads: true},
		{Kind: events.KindNotifySet, Level: events.LevelMentions, Until: record + 86_400_000, IgnoreAll: events.Yes},
		{Kind: events.KindNotifySet, Level: events.LevelNone, IgnoreAll: events.No},
		{Kind: events.KindNotifySet, Until: 1},
		{Kind: events.KindFlagSet, Flagged: true, HeadSeq: 9},
		{Kind: events.KindFlagSet},
		{Kind: events.KindChannelFiled, Archived: true, Keep: true, HeadSeq: 9},
		{Kind: events.KindChannelFiled},
		{Kind: events.KindMessagesHidden, IDs: texts("m1", "m2"), Seq: 7},
		{Kind: events.KindMessagesHidden, Seq: 7},
		{Kind: events.KindLineSet, Target: events.TargetMessageID, MessageID: []byte("m1")},
		{Kind: events.KindLineSet, Target: events.TargetSeq, Seq: 7},
		{Kind: events.KindMessagesViewed, IDs: texts("m1", "m2")},
		{Kind: events.KindLabelsSet, IDs: texts("work", "pinned")},
		{Kind: events.KindLabelsSet},
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
		"newer":            {mutated(func(e *pb.ReadEvent) { e.MinVersion = 3 }), events.ReasonNewerVersion, "min_version"},
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
		"mark without message":  {read(&pb.MarkedUnread{HeadSeq: 3}), events.ReasonInvalidID, "marked_unread.message_id"},
		"mark in bad thread":    {read(&pb.MarkedUnread{MessageId: "m", ThreadId: "\r"}), events.ReasonInvalidID, "marked_unread.thread_id"},
		"mark with bad head":    {read(&pb.MarkedUnread{MessageId: "m", HeadMessageId: "\r"}), events.ReasonInvalidID, "marked_unread.head_message_id"},
		"follow without thread": {read(&pb.ThreadFollowed{}), events.ReasonInvalidID, "thread_followed.thread_id"},
		"with threads, in one": {read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 1}, ThreadId: "t", WithThreads: true}),
			events.ReasonInvalidID, "read_up_to.thread_id"},
		"no such level":    {read(&pb.NotifySet{Level: 3}), events.ReasonInvalidLevel, "notify_set.level"},
		"a negative level": {read(&pb.NotifySet{Level: -1}), events.ReasonInvalidLevel, "notify_set.level"},
		"until before 1970": {read(&pb.NotifySet{Until: &timestamppb.Timestamp{Seconds: -1}}),
			events.ReasonInvalidTime, "notify_set.until"},
		"until after 9999": {read(&pb.NotifySet{Until: &timestamppb.Timestamp{Seconds: 253402300800}}),
			events.ReasonInvalidTime, "notify_set.until"},
		"hides nothing":           {read(&pb.MessagesHidden{}), events.ReasonNoTarget, "messages_hidden"},
		"hides no message":        {read(&pb.MessagesHidden{MessageIds: []string{"m", ""}}), events.ReasonInvalidID, "messages_hidden.message_ids[1]"},
		"hides 1,001":             {read(&pb.MessagesHidden{MessageIds: many(1001)}), events.ReasonTooMany, "messages_hidden.message_ids"},
		"views nothing":           {read(&pb.MessagesViewed{}), events.ReasonNoTarget, "messages_viewed.message_ids"},
		"views no message":        {read(&pb.MessagesViewed{MessageIds: []string{"\n"}}), events.ReasonInvalidID, "messages_viewed.message_ids[0]"},
		"views 1,001":             {read(&pb.MessagesViewed{MessageIds: many(1001)}), events.ReasonTooMany, "messages_viewed.message_ids"},
		"a line nowhere":          {read(&pb.LineSet{}), events.ReasonNoTarget, "line_set"},
		"a line at seq 0":         {read(&pb.LineSet{Target: &pb.LineSet_Seq{}}), events.ReasonZeroSeq, "line_set.seq"},
		"a line at no id":         {read(&pb.LineSet{Target: &pb.LineSet_MessageId{}}), events.ReasonInvalidID, "line_set.message_id"},
		"17 labels":               {read(&pb.LabelsSet{Labels: many(17)}), events.ReasonTooMany, "labels_set.labels"},
		"an empty label":          {read(&pb.LabelsSet{Labels: []string{"a", ""}}), events.ReasonInvalidLabel, "labels_set.labels[1]"},
		"a label with a tab":      {read(&pb.LabelsSet{Labels: []string{"a\tb"}}), events.ReasonInvalidLabel, "labels_set.labels[0]"},
		"a label of 129":          {read(&pb.LabelsSet{Labels: []string{strings.Repeat("l", 129)}}), events.ReasonInvalidLabel, "labels_set.labels[0]"},
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

// If a target is stated twice the last member holds, and the other fields are merged.
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

// The decoder accepts values at the limits: times in 1970 and 9999, 1,000 ids, 16 labels of 128
// bytes. until is a future time, so the clock rule does not replace it.
func TestReadTakenAtTheEdge(t *testing.T) {
	label := strings.Repeat("l", 126)
	labels := many(16)
	for i := range labels {
		labels[i] = (labels[i] + label)[:128]
	}
	var d events.Decoder
	var r events.Read
	for name, e := range map[string]*pb.ReadEvent{
		"until 1970":        read(&pb.NotifySet{Until: &timestamppb.Timestamp{Seconds: 5}}),
		"until 9999":        read(&pb.NotifySet{Until: &timestamppb.Timestamp{Seconds: 253402300799}}),
		"1,000 hidden":      read(&pb.MessagesHidden{MessageIds: many(1000)}),
		"1,000 viewed":      read(&pb.MessagesViewed{MessageIds: many(1000)}),
		"16 labels":         read(&pb.LabelsSet{Labels: labels}),
		"hidden to the end": read(&pb.MessagesHidden{UpToSeq: 1<<32 - 1}),
	} {
		if err := d.Read(mustMarshal(t, e), record, &r); err != nil || r.ClockReplaced {
			t.Errorf("%s: %v, clock replaced %t", name, err, r.ClockReplaced)
		}
		if want := e.GetNotifySet().GetUntil().GetSeconds() * 1000; r.Until != want {
			t.Errorf("%s: until %d, want %d", name, r.Until, want)
		}
	}
}

// An unknown name of a level is an error, although protojson would drop it.
func TestLevelsInJSON(t *testing.T) {
	var d events.Decoder
	var r events.Read
	for level, want := range map[string]events.Reason{
		`"MENTIONS"`: "", `1`: "", `null`: "", `"ALL"`: "", `"SOMETIMES"`: events.ReasonInvalidLevel, `3`: events.ReasonInvalidLevel,
		`-1`: events.ReasonInvalidLevel, `"mentions"`: events.ReasonInvalidLevel, `[]`: events.ReasonUndecodable, `4294967296`: events.ReasonUndecodable,
	} {
		for _, kind := range []string{"notify_set", "notifySet"} {
			value := `{"channel_id":"c1","user_id":"u1","min_version":2,"` + kind + `":{"level":` + level + `}}`
			if err := d.Read([]byte(value), record, &r); events.ReasonOf(err) != want || (err == nil) != (want == "") {
				t.Errorf("%s: %v, want %q", value, err, want)
			}
		}
	}
}
