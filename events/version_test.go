package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// A record of version 2 with an unfolded part stops its partition, in both encodings: as a dead
// letter, or as an event without that part, it would be lost silently. In version 1 the same field
// is unknown.
func TestVersion2ThatABuildLacks(t *testing.T) {
	t.Cleanup(events.WithoutVersion2())
	ids := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "c1")
	user := protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "u1")
	within := func(kind, field protowire.Number, rest ...byte) []byte {
		sub := append(rest, protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), 1)...)
		if kind == 10 && field == 10 {
			sub = protowire.AppendString(protowire.AppendTag(rest, field, protowire.BytesType), "u2")
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), sub)
	}
	message := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "m1")
	posted := append(message[:len(message):len(message)], protowire.AppendString(protowire.AppendTag(nil, 2, protowire.BytesType), "u1")...)
	empty := func(kind protowire.Number) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, kind, protowire.BytesType), nil)
	}
	const (
		aPost = `"message_posted":{"message_id":"m1","sender_id":"u1",`
		aRead = `"readUpTo":{"message_id":"m1",`
	)
	for _, c := range []struct {
		in          events.Input
		name        string
		proto       []byte
		json        string
		withVersion events.Reason // of version 1
	}{
		{events.Messages, "channel_updated", empty(18), `"channelUpdated":{}`, events.ReasonNoKind},
		{events.Messages, "hidden_from", within(10, 10, posted...), aPost + `"hidden_from":["u2"]}`, ""},
		{events.Messages, "marks_read", within(10, 11, posted...), aPost + `"marksRead":false}`, ""},
		{events.Reads, "notify_set", empty(17), `"notify_set":{}`, events.ReasonNoKind},
		{events.Reads, "flag_set", empty(18), `"flagSet":{}`, events.ReasonNoKind},
		{events.Reads, "channel_filed", empty(19), `"channel_filed":{}`, events.ReasonNoKind},
		{events.Reads, "messages_hidden", empty(20), `"messages_hidden":{}`, events.ReasonNoKind},
		{events.Reads, "line_set", empty(21), `"line_set":{}`, events.ReasonNoKind},
		{events.Reads, "messages_viewed", empty(22), `"messages_viewed":{}`, events.ReasonNoKind},
		{events.Reads, "labels_set", empty(23), `"labels_set":{}`, events.ReasonNoKind},
		{events.Reads, "with_threads", within(10, 7, message...), aRead + `"withThreads":true}`, ""},
	} {
		decode := func(value []byte) error {
			var d events.Decoder
			if c.in == events.Messages {
				return d.Message(value, record, new(events.Message))
			}
			return d.Read(value, record, new(events.Read))
		}
		for version, want := range map[int]events.Reason{0: c.withVersion, 1: c.withVersion, 2: events.ReasonNewerVersion} {
			value := append(append(append([]byte(nil), ids...), user...), c.proto...)
			value = protowire.AppendVarint(protowire.AppendTag(value, 9, protowire.VarintType), uint64(version))
			json := fmt.Sprintf(`{"channel_id":"c1","user_id":"u1","min_version":%d,%s}`, version, c.json)
			if c.in == events.Messages { // field 2 is the time there
				value = append(append([]byte(nil), ids...), value[len(ids)+len(user):]...)
				json = strings.Replace(json, `"user_id":"u1",`, "", 1)
			}
			for encoding, value := range map[string][]byte{"Protobuf": value, "JSON": []byte(json), "JSON in a frame": append([]byte{0, 0, 0, 0, 1}, json...)} {
				err := decode(value)
				if events.ReasonOf(err) != want || errors.Is(err, events.ErrNewerVersion) != (want == events.ReasonNewerVersion) {
					t.Errorf("%s, min_version %d, %s: %v, want %q", c.name, version, encoding, err, want)
				}
				if want == events.ReasonNewerVersion && (err == nil || !strings.Contains(err.Error(), c.name)) {
					t.Errorf("%s, %s: the error does not name the field: %v", c.name, encoding, err)
				}
			}
		}
	}
}

// The decoder accepts all of version 2, and ignores unknown fields beside a known kind.
func TestVersion2ThatThisBuildHas(t *testing.T) {
	for _, json := range []string{
		`{"channel_id":"c1","min_version":2,"messages_seeded":{"count":2147483648}}`,
		`{"channel_id":"c1","messagesSeeded":{"count":1}}`,
		`{"channel_id":"c1","min_version":2,"message_posted":{"message_id":"m1","sender_id":"u1","colour":"red"},"trace":"x"}`,
		`{"channel_id":"c1","min_version":2,"message_deleted":{"seq":3}}`,
		`{"channel_id":"c1","min_version":2,"channel_updated":{"archived":true,"labels":["work"]}}`,
		`{"channel_id":"c1","min_version":2,"message_posted":{"message_id":"m1","sender_id":"u1","hidden_from":["u2"]}}`,
		`{"channel_id":"c1","min_version":2,"message_posted":{"message_id":"m1","sender_id":"u1","marks_read":false}}`,
	} {
		var d events.Decoder
		if err := d.Message([]byte(json), record, new(events.Message)); err != nil {
			t.Errorf("%s: %v", json, err)
		}
	}
	for _, json := range []string{
		`"min_version":2,"notify_set":{"level":"NONE","until":"2026-01-02T03:04:05Z"}`,
		`"min_version":2,"flag_set":{"flagged":true}`,
		`"min_version":2,"channel_filed":{"archived":true,"keep":true}`,
		`"min_version":2,"messages_hidden":{"message_ids":["m1"],"up_to_seq":3}`,
		`"min_version":2,"line_set":{"seq":3}`,
		`"min_version":2,"messages_viewed":{"message_ids":["m1"]}`,
		`"min_version":2,"labels_set":{"labels":["work"]}`,
		`"labelsSet":{}`,
		`"min_version":2,"read_up_to":{"seq":3,"with_threads":true}`,
	} {
		var d events.Decoder
		if err := d.Read([]byte(`{"channel_id":"c1","user_id":"u1",`+json+`}`), record, new(events.Read)); err != nil {
			t.Errorf("%s: %v", json, err)
		}
	}
	for json, want := range map[string]events.Reason{
		`{"channel_id":"c1","min_version":2,"messages_seeded":{}}`:                   events.ReasonInvalidCount,
		`{"channel_id":"c1","min_version":2,"messages_seeded":{"count":2147483649}}`: events.ReasonInvalidCount,
		`{"channel_id":"c1","min_version":2,"no_such_kind":{}}`:                      events.ReasonNoKind,
		`{"channel_id":"c1","min_version":3,"messages_seeded":{"count":1}}`:          events.ReasonNewerVersion,
		`{"channel_id":"c1","message_deleted":{}}`:                                   events.ReasonInvalidID,
	} {
		var d events.Decoder
		if err := d.Message([]byte(json), record, new(events.Message)); events.ReasonOf(err) != want {
			t.Errorf("%s: %v, want %s", json, err, want)
		}
	}
}

// Producers of others' events state the version that an event needs.
func TestStateVersion(t *testing.T) {
	for _, c := range []struct {
		event proto.Message
		want  uint32
	}{
		{message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1"}), 0},
		{message(&pb.MessageDeleted{MessageId: "m1", Seq: 3}), 0},
		{message(&pb.MessageDeleted{Seq: 3}), 2},
		{&pb.MessageEvent{Kind: &pb.MessageEvent_MessagesSeeded{MessagesSeeded: &pb.MessagesSeeded{Count: 1}}}, 2},
		{message(&pb.ChannelUpdated{}), 2},
		{message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", HiddenFrom: []string{"u2"}}), 2},
		{message(&pb.MessagePosted{MessageId: "m1", SenderId: "u1", MarksRead: proto.Bool(false)}), 2},
		{read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 1}}), 0},
		{read(&pb.ReadUpTo{Target: &pb.ReadUpTo_Seq{Seq: 1}, WithThreads: true}), 2},
		{read(&pb.NotifySet{}), 2},
		{read(&pb.FlagSet{}), 2},
		{read(&pb.ChannelFiled{}), 2},
		{read(&pb.MessagesHidden{UpToSeq: 1}), 2},
		{read(&pb.LineSet{}), 2},
		{read(&pb.MessagesViewed{}), 2},
		{read(&pb.LabelsSet{}), 2},
		{read(&pb.ChannelMuted{}), 0},
		{&pb.MessageEvent{MinVersion: 3, Kind: &pb.MessageEvent_MessagesSeeded{MessagesSeeded: &pb.MessagesSeeded{Count: 1}}}, 3},
		{read(&pb.MarkedUnread{MessageId: "m1"}), 0},
		{read(&pb.MarkedUnread{MessageId: "m1", Seq: 3}), 2},
	} {
		events.StateVersion(c.event)
		if got := c.event.(interface{ GetMinVersion() uint32 }).GetMinVersion(); got != c.want {
			t.Errorf("%v: min_version %d, want %d", c.event, got, c.want)
		}
	}
}
