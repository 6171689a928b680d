package answer

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/position"
)

// same compares a message with its JSON.
func same(t *testing.T, what string, got proto.Message, want string) {
	t.Helper()
	w := got.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal([]byte(want), w); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, w) {
		t.Errorf("%s is %v, want %v", what, got, w)
	}
}

// The answer has every field of a channel's view. A message with seq 0 is left out.
func TestChannel(t *testing.T) {
	same(t, "an empty channel", Channel(&projections.View{ChannelID: "town", LastReadAt: 5}, 0), `{"channelId":"town"}`)
	full := Channel(&projections.View{
		ChannelID: "town", Member: true, Unread: 4, Mentions: 2, OfflineUnread: 1, ReadEpoch: 9,
		DirectMentions: 1, FirstMention: projections.Ref{MessageID: "m5", Seq: 5},
		Level: events.LevelNone, LevelAfter: events.LevelMentions, Until: 3000, IgnoreAll: true, Flagged: true, Line: projections.Ref{MessageID: "m2"}, LineKnown: projections.Ref{MessageID: "m2", Seq: 2},
		Filed: events.Filed{Is: true, Keep: true}, StillFiled: true,
		Labels: []string{"b", "c"}, ChannelLabels: []string{"a", "b"}, ChannelArchived: true, Archived: true,
		FirstUnread: projections.Ref{MessageID: "m4", Seq: 4},
		LastRead:    projections.Ref{MessageID: "m3", Seq: 3}, LastReadAt: 1500,
		Latest: projections.Head{MessageID: "m7", Seq: 7, At: 2500, SenderID: "ann", Preview: "hello"},
	}, 2999)
	same(t, "a channel", full, `{"channelId":"town","member":true,"unread":4,"mentions":2,"offlineUnread":1,"muted":true,"readEpoch":9,
		"directMentions":1,"firstMention":{"messageId":"m5","seq":5},
		"level":"NONE","until":"1970-01-01T00:00:03Z","levelAfter":"MENTIONS","ignoreMentionAll":true,"line":{"messageId":"m2","seq":2},"flagged":true,"filed":{"keep":true},
		"labels":["a","b","c"],"ownLabels":["b","c"],"archived":true,
		"firstUnread":{"messageId":"m4","seq":4},"lastRead":{"messageId":"m3","seq":3,"at":"1970-01-01T00:00:01.500Z"},
		"latest":{"messageId":"m7","seq":7,"at":"1970-01-01T00:00:02.500Z","senderId":"ann","preview":"hello"}}`)
	fields := full.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if f := fields.Get(i); !full.ProtoReflect().Has(f) && f.Name() != "as_of" && f.Name() != "evaluated_at" { // the service fills these
			t.Errorf("%s is not answered, or this test gives it no value", f.Name())
		}
	}
}

// The user's filing is in the answer until news ends it, also for a channel that is archived for
// everybody.
func TestFiledUntilNews(t *testing.T) {
	v := projections.View{ChannelID: "town", Filed: events.Filed{Is: true}, ChannelArchived: true, Archived: true}
	same(t, "with news", Channel(&v, 0), `{"channelId":"town","archived":true}`)
	v.StillFiled = true
	same(t, "without", Channel(&v, 0), `{"channelId":"town","archived":true,"filed":{}}`)
}

// A thread counts as followed once it has a reply.
func TestThread(t *testing.T) {
	muted := projections.Standing{Levels: events.Levels{Level: events.LevelNone, Until: 1000, After: events.LevelMentions}, Archived: true}
	v := projections.ThreadView{ChannelID: "town", ThreadID: "m1", Following: true, Unread: 2, Mentions: 1, ReadEpoch: 3,
		FirstUnread: projections.Ref{Seq: 4}, LastRead: projections.Ref{MessageID: "m3", Seq: 3}, LastReadAt: 1000}
	same(t, "a thread without a reply", Thread(&v, &muted, 0), `{"channelId":"town","threadId":"m1","unread":2,"mentions":1,"readEpoch":3,"muted":true,"level":"NONE","levelAfter":"MENTIONS","until":"1970-01-01T00:00:01Z","archived":true,
		"firstUnread":{"seq":4},"lastRead":{"messageId":"m3","seq":3,"at":"1970-01-01T00:00:01Z"}}`)
	v.LastReply = projections.Head{MessageID: "m5", Seq: 5, At: 1000}
	if got := Thread(&v, &muted, 0); !got.Following || got.LastReply.GetSeq() != 5 {
		t.Errorf("with a reply %v", got)
	}
	if got := Thread(&v, &muted, 1000); got.Level != Level(events.LevelMentions) || got.Muted || got.Until != nil {
		t.Errorf("once the level has ended %v", got)
	}
	v.LastReadAt = 0
	if got := Thread(&v, &muted, 0); got.LastRead.GetSeq() != 3 || got.LastRead.At != nil {
		t.Errorf("read with its channel %v", got.LastRead)
	}
	v.Following = false
	if got := Thread(&v, &muted, 0); got.Following {
		t.Errorf("not followed, but %v", got)
	}
}

// An explanation names the record that set the pointer, if there is a pointer.
func TestExplanation(t *testing.T) {
	topics := position.Topics(events.InputTopics)
	e := projections.Explanation{Unread: 3, MessageIDs: []string{"m5", "m6"}, Unnamed: 1, More: true,
		Excluded: projections.Excluded{BeforeJoin: 1, Deleted: 2, Silent: 3, Thread: 4, Own: 5, ReadSingly: 6, Hidden: 7}}
	want := `"unread":3,"messageIds":["m5","m6"],"unnamed":1,"more":true,
		"excluded":{"beforeJoin":1,"deleted":2,"silent":3,"thread":4,"own":5,"readSingly":6,"hidden":7}`
	same(t, "an explanation", Explanation(&topics, &e, 7), "{"+want+"}")
	e.Pointer, e.PointerAt, e.Event = projections.Ref{MessageID: "m4", Seq: 4}, 1000, projections.Event{Input: events.Reads, Offset: 12}
	same(t, "with a pointer", Explanation(&topics, &e, 7), "{"+want+
		`,"pointer":{"messageId":"m4","seq":4,"at":"1970-01-01T00:00:01Z","event":"chat.reads/7/12"}}`)
}

// The status of a message is the least status of all its recipients. Read is higher than delivered.
func TestReceipts(t *testing.T) {
	for _, c := range []struct {
		recipients, delivered, read uint32
		want                        string
	}{{0, 0, 0, StatusSent}, {2, 1, 1, StatusSent}, {2, 2, 1, StatusDelivered}, {2, 2, 2, StatusRead}, {2, 0, 2, StatusRead}} {
		if got := Receipts(&projections.ReceiptsView{Recipients: c.recipients, Delivered: c.delivered, Read: c.read}); got.Status != c.want {
			t.Errorf("%+v: %s", c, got.Status)
		}
	}
	same(t, "a page", Receipts(&projections.ReceiptsView{ChannelID: "town", MessageID: "m1", Seq: 1, Recipients: 4, Delivered: 3, Read: 1, Viewed: 2, List: []projections.Receipt{
		{UserID: "ann"}, {UserID: "bob", Delivered: true, DeliveredAt: 1000}, {UserID: "cleo", Delivered: true, Read: true, ReadAt: 2000, Viewed: true, ViewedAt: 3000}, {UserID: "dan", Delivered: true, Viewed: true},
	}}), `{"channelId":"town","messageId":"m1","seq":1,"status":"sent","recipientCount":4,"deliveredCount":3,"readCount":1,"viewedCount":2,"recipients":[
		{"userId":"ann","status":"sent"},{"userId":"bob","status":"delivered","deliveredAt":"1970-01-01T00:00:01Z"},
		{"userId":"cleo","status":"read","readAt":"1970-01-01T00:00:02Z","viewedAt":"1970-01-01T00:00:03Z"},{"userId":"dan","status":"delivered"}]}`)
}

// A member who has read nothing is listed without a time.
func TestReaders(t *testing.T) {
	got := Readers(&projections.ReadersView{List: []projections.Reader{
		{UserID: "ann", Message: projections.Ref{MessageID: "m2", Seq: 2}, At: 1000}, {UserID: "bob", At: 1000},
	}})
	same(t, "the readers", got, `{"readers":[{"userId":"ann","messageId":"m2","seq":2,"at":"1970-01-01T00:00:01Z"},{"userId":"bob"}]}`)
}
