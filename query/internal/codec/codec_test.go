package codec

import (
	"google.golang.org/protobuf/types/known/timestamppb"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

func TestJSONGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  proto.Message
		want string
	}{
		{
			"zeros are written, absent messages are not",
			&queryv1.ChannelUnread{ChannelId: "c"},
			`{"channel_id":"c","member":false,"unread":0,"mentions":0,"offline_unread":0,"muted":false,"read_epoch":0,` +
				`"direct_mentions":0,"level":"ALL","level_after":"ALL","ignore_mention_all":false,"flagged":false,"archived":false,"labels":[],"own_labels":[],"as_of":[]}`,
		},
		{
			"everything",
			&queryv1.ChannelUnread{
				ChannelId: "c", Member: true, Unread: 4294967295, Mentions: 1, OfflineUnread: 2,
				FirstUnread: &queryv1.MessageRef{MessageId: "m1", Seq: 1},
				LastRead:    &queryv1.LastRead{MessageId: "m0", Seq: 7, At: timestamppb.New(time.UnixMilli(1_767_225_600_123))},
				Latest:      &queryv1.Latest{MessageId: "m9", Seq: 9, At: timestamppb.New(time.UnixMilli(1_767_225_600_000)), SenderId: "b", Preview: "<é>"},
				Muted:       true, ReadEpoch: 1, DirectMentions: 1, FirstMention: &queryv1.MessageRef{Seq: 3},
				Level: eventsv1.NotifySet_NONE, Until: timestamppb.New(time.UnixMilli(1_767_225_600_000)), LevelAfter: eventsv1.NotifySet_MENTIONS,
				IgnoreMentionAll: true, Flagged: true, Filed: &queryv1.Filed{Keep: true}, Archived: true, Line: &queryv1.MessageRef{MessageId: "m2"},
				Labels: []string{"a", "b"}, OwnLabels: []string{"b"}, AsOf: []string{"chat.messages/0/8"},
				EvaluatedAt: timestamppb.New(time.UnixMilli(1_767_225_600_001)),
			},
			`{"channel_id":"c","member":true,"unread":4294967295,"mentions":1,"offline_unread":2,` +
				`"first_unread":{"message_id":"m1","seq":1},` +
				`"last_read":{"message_id":"m0","seq":7,"at":"2026-01-01T00:00:00.123Z"},` +
				`"latest":{"message_id":"m9","seq":9,"at":"2026-01-01T00:00:00Z","sender_id":"b","preview":"<é>"},` +
				`"muted":true,"read_epoch":1,"direct_mentions":1,"first_mention":{"message_id":"","seq":3},` +
				`"level":"NONE","until":"2026-01-01T00:00:00Z","level_after":"MENTIONS","ignore_mention_all":true,` +
				`"flagged":true,"filed":{"keep":true},"archived":true,"line":{"message_id":"m2","seq":0},"labels":["a","b"],"own_labels":["b"],` +
				`"as_of":["chat.messages/0/8"],"evaluated_at":"2026-01-01T00:00:00.001Z"}`,
		},
		{
			"an empty inbox",
			&queryv1.GetInboxResponse{Totals: &queryv1.Totals{Archived: &queryv1.ArchivedTotals{}}},
			`{"channels":[],"totals":{"unread":0,"mentions":0,"unread_channels":0,"thread_unread":0,"thread_mentions":0,` +
				`"badge":0,"unread_threads":0,"flagged":0,"archived":{"unread_channels":0,"mentions":0}},` +
				`"next_page_token":"","totals_by_label":{},"as_of":[]}`,
		},
		{
			"a heartbeat",
			&queryv1.WatchUnreadResponse{AsOf: []string{"chat.reads/1/2"}},
			`{"as_of":["chat.reads/1/2"]}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, codec := range []jsonCodec{{"json"}, {"json; charset=utf-8"}} {
				got, err := codec.Marshal(c.msg)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != c.want {
					t.Errorf("got\n%s\nwant\n%s", got, c.want)
				}
			}
		})
	}
}

func TestJSONTakesBothSpellings(t *testing.T) {
	for _, body := range []string{
		`{"user_id":"a","unread_only":true,"page_size":7,"after":["x"]}`,
		`{"userId":"a","unreadOnly":true,"pageSize":7,"after":["x"]}`,
		` {"userId":"a","unread_only":true,"page_size":"7","after":["x"]} `,
	} {
		var got queryv1.GetInboxRequest
		if err := (jsonCodec{"json"}).Unmarshal([]byte(body), &got); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		want := &queryv1.GetInboxRequest{UserId: "a", UnreadOnly: true, PageSize: 7, After: []string{"x"}}
		if !proto.Equal(&got, want) {
			t.Errorf("%s: got %v", body, &got)
		}
	}
}

func TestJSONRefusalsAreOneSentence(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, `the body is empty, want a JSON object`},
		{"  \n", `the body is empty, want a JSON object`},
		{`{"user":"a"}`, `unknown field "user" at line 1:2; GetInboxRequest has user_id, unread_only, page_size, page_token, label, archived, after, evaluated_at`},
		{`null`, `not a JSON GetInboxRequest: syntax error (line 1:1): unexpected token null`},
		{`{`, `not a JSON GetInboxRequest: unexpected EOF`},
		{`{"page_size":-1}`, `not a JSON GetInboxRequest: (line 1:14): invalid value for uint32 field page_size: -1`},
		{`{"page_size":4294967296}`, `not a JSON GetInboxRequest: (line 1:14): invalid value for uint32 field page_size: 4294967296`},
		{`{"user_id":7}`, `not a JSON GetInboxRequest: (line 1:12): invalid value for string field user_id: 7`},
		{`{"user_id":"a","userId":"b"}`, `not a JSON GetInboxRequest: (line 1:16): duplicate field "userId"`},
		{"{\"user_id\":\"\xff\"}", `not a JSON GetInboxRequest: syntax error (line 1:12): invalid UTF-8 in string`},
		{`{} {}`, `not a JSON GetInboxRequest: syntax error (line 1:4): unexpected token {`},
	} {
		var m queryv1.GetInboxRequest
		err := (jsonCodec{"json"}).Unmarshal([]byte(c.body), &m)
		if err == nil {
			t.Errorf("%q was accepted as %v", c.body, &m)
			continue
		}
		got := strings.ReplaceAll(err.Error(), "\u00a0", " ")
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.body, got, c.want)
		}
	}
}

// Unknown fields in a newer producer's event are ignored, as in the topics.
func TestJSONOfEventsMayHaveUnknownFields(t *testing.T) {
	var m ingestv1.PublishRequest
	err := (jsonCodec{"json"}).Unmarshal([]byte(`{"events":[{"message":{"channelId":"c","new":[{}],
		"members_left":{"user_ids":["u"],"why":{"a":null}}}}],"trace":1}`), &m)
	want := &ingestv1.PublishRequest{Events: []*ingestv1.Event{{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
		ChannelId: "c", Kind: &eventsv1.MessageEvent_MembersLeft{MembersLeft: &eventsv1.MembersLeft{UserIds: []string{"u"}}},
	}}}}}
	if err != nil || !proto.Equal(&m, want) {
		t.Errorf("got %v, %v", &m, err)
	}
}
