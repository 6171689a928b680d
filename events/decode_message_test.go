package events_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

func texts(list ...string) (out [][]byte) {
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func TestMessageFields(t *testing.T) {
	want := []events.Message{
		{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("u1"), Preview: []byte("Grüße, 世界"),
			ThreadID: []byte("m0"), Broadcast: true, IDs: texts("u2", "u3"), MentionAll: true, MemberCount: 300},
		{Kind: events.KindMessagePosted, MessageID: []byte("01JA3M9ZC0QK2V5T7W8X9Y0ZAB"),
			SenderID: []byte("01JA3M9ZC0QK2V5T7W8X9Y0ZAC"), Preview: []byte("hi")},
		{Kind: events.KindMessagePosted, MessageID: []byte("m1"), Silent: true},
		{Kind: events.KindMessageEdited, MessageID: []byte("m1"), Preview: []byte("b"), IDs: texts("u4"), MentionAll: true,
			KeepMentions: true},
		{Kind: events.KindMessageDeleted, MessageID: []byte("m1"), Seq: 70000},
		{Kind: events.KindMessagesPurged, Target: events.TargetMessageID, MessageID: []byte("m1")},
		{Kind: events.KindMessagesPurged, Target: events.TargetSeq, Seq: 3},
		{Kind: events.KindMessagesPurged, Target: events.TargetTime, TargetTime: record - 5},
		{Kind: events.KindMembersJoined, IDs: texts("u1", "u2"), CountHistory: true},
		{Kind: events.KindMembersLeft, IDs: texts("u1")},
		{Kind: events.KindChannelDeleted},
		{Kind: events.KindMessagesSeeded, Count: 70000},
		{Kind: events.KindMessageDeleted, Seq: 3},
		{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("u1"), HiddenFrom: texts("u2", "u3"), MarksRead: events.No},
		{Kind: events.KindMessagePosted, MessageID: []byte("m1"), SenderID: []byte("u1"), MarksRead: events.Yes},
		{Kind: events.KindChannelUpdated, IDs: texts("acme", "Größe L"), Archived: true},
		{Kind: events.KindChannelUpdated},
	}
	samples := sampleMessages()
	if len(samples) != len(want) {
		t.Fatalf("%d samples, %d expectations", len(samples), len(want))
	}
	var d events.Decoder
	var m events.Message
	for i, sample := range samples {
		want[i].ChannelID, want[i].OccurredAt = []byte("c1"), record-1000
		if err := d.Message(mustMarshal(t, sample), record, &m); err != nil {
			t.Fatal(err)
		}
		equal(t, m, want[i])
	}
}

// many returns n ids.
func many(n int) (ids []string) {
	for i := range n {
		ids = append(ids, "x"+strconv.Itoa(i))
	}
	return ids
}

// badEvent is an event that the decoder must refuse with a reason and a field.
type badEvent struct {
	event  proto.Message
	reason events.Reason
	field  string
}

func checkBad(t *testing.T, value []byte, err error, want badEvent) {
	t.Helper()
	var e *events.Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: got %v, want %s in %s", value, err, want.reason, want.field)
	}
	if e.Reason != want.reason || e.Field != want.field {
		t.Errorf("%q: got %s in %q, want %s in %q", value, e.Reason, e.Field, want.reason, want.field)
	}
}

func TestMessageRefused(t *testing.T) {
	const long = 256
	mutated := func(fn func(*pb.MessageEvent)) *pb.MessageEvent {
		e := message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1"})
		fn(e)
		return e
	}
	bad := map[string]badEvent{
		"no kind":            {message(nil), events.ReasonNoKind, ""},
		"no channel":         {mutated(func(e *pb.MessageEvent) { e.ChannelId = "" }), events.ReasonInvalidID, "channel_id"},
		"long channel":       {mutated(func(e *pb.MessageEvent) { e.ChannelId = strings.Repeat("c", long) }), events.ReasonInvalidID, "channel_id"},
		"newline in channel": {mutated(func(e *pb.MessageEvent) { e.ChannelId = "c\n1" }), events.ReasonInvalidID, "channel_id"},
		"newer":              {mutated(func(e *pb.MessageEvent) { e.MinVersion = 3 }), events.ReasonNewerVersion, "min_version"},
		"newer without kind": {&pb.MessageEvent{MinVersion: 7}, events.ReasonNewerVersion, "min_version"},
		"before 1970": {mutated(func(e *pb.MessageEvent) { e.OccurredAt.Seconds = -1 }),
			events.ReasonInvalidTime, "occurred_at"},
		"posted without id":     {message(&pb.MessagePosted{SenderId: "u1"}), events.ReasonInvalidID, "message_posted.message_id"},
		"posted without sender": {message(&pb.MessagePosted{MessageId: "m1"}), events.ReasonInvalidID, "message_posted.sender_id"},
		"silent, bad sender": {message(&pb.MessagePosted{MessageId: "m1", SenderId: "\x00", Silent: true}),
			events.ReasonInvalidID, "message_posted.sender_id"},
		"posted in bad thread": {message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", ThreadId: "\u0085"}),
			events.ReasonInvalidID, "message_posted.thread_id"},
		"one bad mention": {message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", Mentions: []string{"a", "", "b"}}),
			events.ReasonInvalidID, "message_posted.mentions[1]"},
		"edited without id": {message(&pb.MessageEdited{Preview: "x"}), events.ReasonInvalidID, "message_edited.message_id"},
		"edited, bad mention": {message(&pb.MessageEdited{MessageId: "m1", Mentions: []string{"\x7f"}}),
			events.ReasonInvalidID, "message_edited.mentions[0]"},
		"deleted without a name": {message(&pb.MessageDeleted{}), events.ReasonInvalidID, "message_deleted.message_id"},
		"purged nothing":         {message(&pb.MessagesPurged{}), events.ReasonNoTarget, "messages_purged"},
		"purged to empty id": {message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToMessageId{}}),
			events.ReasonInvalidID, "messages_purged.up_to_message_id"},
		"purged to seq 0": {message(&pb.MessagesPurged{Target: &pb.MessagesPurged_UpToSeq{}}),
			events.ReasonZeroSeq, "messages_purged.up_to_seq"},
		"nobody joined": {message(&pb.MembersJoined{}), events.ReasonNoTarget, "members_joined.user_ids"},
		"bad joiner": {message(&pb.MembersJoined{UserIds: []string{"u1", "u\t2"}}),
			events.ReasonInvalidID, "members_joined.user_ids[1]"},
		"hidden from a bad user": {message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", HiddenFrom: []string{"u2", ""}}),
			events.ReasonInvalidID, "message_posted.hidden_from[1]"},
		"hidden from 1,001": {message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", HiddenFrom: many(1001)}),
			events.ReasonTooMany, "message_posted.hidden_from"},
		"17 labels of a channel": {message(&pb.ChannelUpdated{Labels: many(17)}), events.ReasonTooMany, "channel_updated.labels"},
		"a label of 200 bytes": {message(&pb.ChannelUpdated{Labels: []string{"a", strings.Repeat("l", 200)}}),
			events.ReasonInvalidLabel, "channel_updated.labels[1]"},
		"nobody left": {message(&pb.MembersLeft{}), events.ReasonNoTarget, "members_left.user_ids"},
	}
	var d events.Decoder
	var m events.Message
	for name, want := range bad {
		t.Run(name, func(t *testing.T) {
			value := mustMarshal(t, want.event)
			checkBad(t, value, d.Message(value, record, &m), want)
		})
	}
}

// The Protobuf rules for repeated fields: a later kind replaces an earlier one, the same kind again
// is merged, and nothing else remains.
func TestMessageMerging(t *testing.T) {
	posted := mustMarshal(t, message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", Mentions: []string{"a"}, Silent: true}))
	more := mustMarshal(t, message(&pb.MessagePosted{MessageId: "m2", Mentions: []string{"b"}}))
	left := mustMarshal(t, message(&pb.MembersLeft{UserIds: []string{"u9"}}))
	var d events.Decoder
	var m events.Message

	if err := d.Message(append(posted[:len(posted):len(posted)], more...), record, &m); err != nil {
		t.Fatal(err)
	}
	equal(t, m, events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c1"), OccurredAt: record - 1000,
		MessageID: []byte("m2"), SenderID: []byte("u1"), Silent: true, IDs: texts("a", "b")})

	if err := d.Message(append(posted[:len(posted):len(posted)], left...), record, &m); err != nil {
		t.Fatal(err)
	}
	equal(t, m, events.Message{Kind: events.KindMembersLeft, ChannelID: []byte("c1"), OccurredAt: record - 1000, IDs: texts("u9")})
}

func TestHugeMemberList(t *testing.T) {
	users := make([]string, 100_000)
	for i := range users {
		users[i] = idA
	}
	var d events.Decoder
	var m events.Message
	if err := d.Message(mustMarshal(t, message(&pb.MembersJoined{UserIds: users})), record, &m); err != nil {
		t.Fatal(err)
	}
	if len(m.IDs) != len(users) {
		t.Fatalf("got %d ids, want %d", len(m.IDs), len(users))
	}
	if err := d.Message(mustMarshal(t, benchMessage()), record, &m); err != nil {
		t.Fatal(err)
	}
	if cap(m.IDs) > 4096 {
		t.Errorf("a list of %d ids is kept after the event", cap(m.IDs))
	}
}

func TestHugePreview(t *testing.T) {
	var d events.Decoder
	var m events.Message
	value := mustMarshal(t, message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", Preview: strings.Repeat("世", 350_000)}))
	if err := d.Message(value, record, &m); err != nil {
		t.Fatal(err)
	}
	if got, want := string(m.Preview), strings.Repeat("世", 140); got != want {
		t.Errorf("preview has %d bytes, want %d", len(got), len(want))
	}
	if cap(m.Preview) != len(m.Preview) {
		t.Error("appending to the preview would write into the record's value")
	}
}
