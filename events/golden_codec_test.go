package events_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	pb "github.com/tidemark/tidemark/events/eventsv1"
)

// spaceless removes the spaces from a group of bytes in hex.
func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }

// TestGoldenEvents pins the bytes of the events of DESIGN §4.7: other programs write them by the
// numbers of the schema. Common to all: channel_id "c", and user_id "u" in reads.
func TestGoldenEvents(t *testing.T) {
	const c, u = "0a0163 ", "120175 "
	event := func(kind any) proto.Message {
		switch e := read(kind); {
		case e.Kind != nil:
			e.ChannelId, e.UserId, e.InstanceId, e.OccurredAt = "c", "u", "", nil
			events.StateVersion(e)
			return e
		}
		e := message(kind)
		e.ChannelId, e.OccurredAt = "c", nil
		events.StateVersion(e)
		return e
	}
	for _, g := range []struct {
		kind any
		want string
	}{
		{&pb.MessagePosted{MessageId: "m", SenderId: "s", HiddenFrom: []string{"u", "v"}, MarksRead: proto.Bool(false)},
			c + "4802 520e 0a016d 120173 520175 520176 5800"},
		{&pb.ChannelUpdated{Labels: []string{"a", "b"}, Archived: true}, c + "4802 920108 0a0161 0a0162 1001"},
		{&pb.ReadUpTo{Target: &pb.ReadUpTo_MessageId{MessageId: "m"}, WithThreads: true}, c + u + "4802 5205 3801 0a016d"},
		{&pb.NotifySet{Level: pb.NotifySet_MENTIONS, Until: pbTime(1_760_000_000_500), IgnoreMentionAll: proto.Bool(true)},
			c + u + "4802 8a0112 0801 120c 0880f09dc706 1080cab5ee01 1801"},
		{&pb.NotifySet{IgnoreMentionAll: proto.Bool(false)}, c + u + "4802 8a0102 1800"},
		{&pb.FlagSet{Flagged: true, HeadSeq: 300}, c + u + "4802 920105 0801 10ac02"},
		{&pb.ChannelFiled{Archived: true, Keep: true, HeadSeq: 9}, c + u + "4802 9a0106 0801 1001 1809"},
		{&pb.MessagesHidden{MessageIds: []string{"m", "n"}, UpToSeq: 7}, c + u + "4802 a20108 0a016d 0a016e 1007"},
		{&pb.LineSet{Target: &pb.LineSet_Seq{Seq: 7}}, c + u + "4802 aa0102 1007"},
		{&pb.MessagesViewed{MessageIds: []string{"m"}}, c + u + "4802 b20103 0a016d"},
		{&pb.LabelsSet{Labels: []string{"a"}}, c + u + "4802 ba0103 0a0161"},
	} {
		if got := hex.EncodeToString(mustMarshal(t, event(g.kind))); got != spaceless(g.want) {
			t.Errorf("%T: got %s, want %s", g.kind, got, spaceless(g.want))
		}
	}
}

// TestGoldenOutputs pins what DESIGN §7 adds to the values of the output topics.
func TestGoldenOutputs(t *testing.T) {
	delta := events.AppendUnreadDelta(nil, &events.UnreadDelta{
		Mentions: 2, DirectMentions: 1, Level: events.LevelNone, LevelAfter: events.LevelMentions, Until: 1_760_000_000_500, IgnoreAll: true,
		Flagged: true, Filed: events.Filed{Is: true, Keep: true, Pos: 9}, Line: events.Ref{MessageID: []byte("m")}, FirstMention: events.Ref{Seq: 7},
		Ask: true, Labels: texts("a", "b"), TouchedAt: 1000,
	})
	channel := events.AppendChannelRecord(nil, &events.ChannelRecord{ChannelID: []byte("c"), Labels: texts("a", "b"), Archived: true})
	receipts := events.AppendReceiptsRecord(nil, &events.ReceiptsRecord{
		ChannelID: []byte("c"),
		Readers:   []events.Receipt{{UserID: []byte("u"), Seq: 7, At: 1000, WithThreads: true}},
		Viewed:    []events.Receipt{{UserID: []byte("v"), MessageID: []byte("m"), Seq: 8, At: 2000}},
	})
	for _, g := range []struct {
		what string
		got  []byte
		want string
	}{
		{"a delta", delta, `3002 a00101 a80102 b2010c 0880f09dc706 1080cab5ee01 b80101 c00101 ca0104 0801 1009 d20103 0a016d d80101
			e20102 1007 e80101 f20101 61 f20101 62 fa01020801`},
		{"a filed channel at position 0", events.AppendUnreadDelta(nil, &events.UnreadDelta{Filed: events.Filed{Is: true}}), "ca0100"},
		{"a channel", channel, "0a0163 720161 720162 7801"},
		{"receipts", receipts, "0a0163 120b 0a0175 1807 22020801 2801 220c 0a0176 12016d 1808 22020802"},
	} {
		if got := hex.EncodeToString(g.got); got != spaceless(g.want) {
			t.Errorf("%s: got %s, want %s", g.what, got, spaceless(g.want))
		}
	}
	var back events.ReceiptsRecord
	if err := events.DecodeReceiptsRecord(receipts, &back); err != nil || len(back.Viewed) != 1 || !back.Readers[0].WithThreads {
		t.Errorf("receipts are read back as %+v, %v", back, err)
	}
}

// A channel stays filed while its head is at most at the delta's pos, or permanently.
func TestFiledHolds(t *testing.T) {
	for _, c := range []struct {
		filed events.Filed
		head  uint32
		want  bool
	}{
		{events.Filed{}, 0, false},
		{events.Filed{Is: true}, 0, true},
		{events.Filed{Is: true, Pos: 9}, 9, true},
		{events.Filed{Is: true, Pos: 9}, 10, false},
		{events.Filed{Is: true, Keep: true, Pos: 9}, 10, true},
	} {
		if got := c.filed.Holds(c.head); got != c.want {
			t.Errorf("%+v with the head at %d: %t", c.filed, c.head, got)
		}
	}
}

// A plain mute is level NONE, whether the delta states the level or not.
func TestSaidLevel(t *testing.T) {
	for _, c := range []struct {
		delta events.UnreadDelta
		want  events.Level
	}{
		{events.UnreadDelta{}, events.LevelAll},
		{events.UnreadDelta{Muted: true}, events.LevelNone},
		{events.UnreadDelta{Muted: true, Level: events.LevelNone}, events.LevelNone},
		{events.UnreadDelta{Level: events.LevelMentions}, events.LevelMentions},
		{events.UnreadDelta{Level: events.LevelMentions, Until: 9, LevelAfter: events.LevelNone}, events.LevelMentions},
	} {
		if got := c.delta.ChosenLevel(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.delta, got, c.want)
		}
	}
}

// A missing choice takes the default.
func TestChoice(t *testing.T) {
	for _, otherwise := range []bool{false, true} {
		if events.NotStated.Or(otherwise) != otherwise || !events.Yes.Or(otherwise) || events.No.Or(otherwise) {
			t.Errorf("otherwise %t: %t, %t, %t", otherwise, events.NotStated.Or(otherwise), events.Yes.Or(otherwise), events.No.Or(otherwise))
		}
	}
}
