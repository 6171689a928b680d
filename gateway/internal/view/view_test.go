package view

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/query/queryv1"
)

const instant = 1_700_000_000_123 // 2023-11-14T22:13:20.123Z

// text returns v as a frame contains it.
func text(v *View, previews bool) string {
	return string(v.Append(frames.Begin(nil, "unread.updated"), previews)) + "}"
}

// A delta and an answer with the same content become the same view, which has these bytes.
func TestAChannelOfADeltaAndOfAnAnswer(t *testing.T) {
	delta := OfDelta(&events.UnreadDelta{
		ChannelID: []byte("general"), Member: true, Unread: 3, Mentions: 1, OfflineUnread: 2, Muted: true, ReadEpoch: 4,
		FirstUnread: events.Ref{MessageID: []byte("m5"), Seq: 5}, LastRead: events.Ref{MessageID: []byte("m4"), Seq: 4}, LastReadAt: instant,
		Latest: events.Head{Seq: 7, MessageID: []byte("m7"), SenderID: []byte("bob"), At: instant, Preview: []byte("hi")},
	})
	at := timestamppb.New(time.UnixMilli(instant))
	answer := OfAnswer(&queryv1.ChannelUnread{
		ChannelId: "general", Member: true, Unread: 3, Mentions: 1, OfflineUnread: 2, Muted: true, ReadEpoch: 4,
		FirstUnread: &queryv1.MessageRef{MessageId: "m5", Seq: 5}, LastRead: &queryv1.LastRead{MessageId: "m4", Seq: 4, At: at},
		Latest: &queryv1.Latest{MessageId: "m7", Seq: 7, At: at, SenderId: "bob", Preview: "hi"},
	})
	if !delta.Same(&answer) {
		t.Errorf("the delta became\n%+v, the answer\n%+v", delta, answer)
	}
	const want = `{"type":"unread.updated","channel_id":"general","member":true,"unread":3,"mentions":1,"offline_unread":2,` +
		`"first_unread":{"message_id":"m5","seq":5},"last_read":{"message_id":"m4","seq":4,"at":"2023-11-14T22:13:20.123Z"},` +
		`"latest":{"message_id":"m7","seq":7,"at":"2023-11-14T22:13:20.123Z","sender_id":"bob","preview":"hi"},"muted":true,"read_epoch":4,"level":"NONE"}`
	if got := text(&delta, true); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A thread has other fields than a channel; empty fields are left out, and previews too if they are
// off.
func TestAThread(t *testing.T) {
	v := OfThread(&queryv1.ThreadUnread{
		ChannelId: "general", ThreadId: "m1", Following: true, Unread: 2, Muted: true, ReadEpoch: 1,
		LastReply: &queryv1.Latest{MessageId: "r2", Seq: 9, At: timestamppb.New(time.UnixMilli(instant)), SenderId: "bob", Preview: "secret"},
	})
	const want = `{"type":"unread.updated","channel_id":"general","thread_id":"m1","followed":true,"unread":2,"mentions":0,` +
		`"last_reply":{"message_id":"r2","seq":9,"at":"2023-11-14T22:13:20.123Z","sender_id":"bob"},"read_epoch":1}`
	if got := text(&v, false); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if n := v.Size(); n != len("general")+len("m1")+len("r2")+len("bob")+len("secret") {
		t.Errorf("its ids and texts have %d bytes", n)
	}
}

// The totals and the stamp have these bytes.
func TestTotalsAndStamp(t *testing.T) {
	sum := Totals{Unread: 5, Mentions: 4, Channels: 3, ThreadUnread: 2, ThreadMentions: 1}
	got := string(sum.Append(AppendStamp(frames.Begin(nil, "x"), &events.Stamp{FoldVersion: 1, M: 2, R: 3, D: 4}), 0))
	const want = `{"type":"x","stamp":"1.2.3.4","totals":{"unread":5,"mentions":4,"unread_channels":3,"thread_unread":2,"thread_mentions":1,"unread_threads":0,"badge":0}`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A position is the furthest that its tokens state, for each partition and input; it covers a delta
// only if it reaches as far in every input.
func TestPositions(t *testing.T) {
	at := PositionOf("messages", "reads", "deliveries", []string{
		"messages/0/9", "messages/0/4", "reads/0/1", "deliveries/1/0", "others/0/77", "no token",
	})
	if want := (events.Stamp{M: 10, R: 2}); at[0] != want || (at[1] != events.Stamp{D: 1}) || len(at) != 2 {
		t.Errorf("%+v", at)
	}
	s := events.Stamp{FoldVersion: OfInbox, M: 10, R: 2, D: 3}
	for _, c := range []struct {
		delta   events.Stamp
		covered bool
	}{
		{events.Stamp{FoldVersion: 9, M: 10, R: 2, D: 3}, true}, {events.Stamp{}, true},
		{events.Stamp{M: 11}, false}, {events.Stamp{R: 3}, false}, {events.Stamp{D: 4}, false},
	} {
		if Covers(&s, &c.delta) != c.covered {
			t.Errorf("%v covers %v: want %v", s, c.delta, c.covered)
		}
	}
}

// The sums are those of the clients, whose own tests use the same vectors.
func TestTotalsOfTheVectors(t *testing.T) {
	data, err := os.ReadFile("../../../clients/conformance/totals.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name, Label       string
		Now               int64
		Channels, Threads []json.RawMessage
		Totals            json.RawMessage
	}
	if err := json.Unmarshal(data, &vectors); err != nil || len(vectors) < 5 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	loose := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, v := range vectors {
		threads := map[string]*Threads{}
		for _, raw := range v.Threads {
			a := &queryv1.ThreadUnread{Following: true}
			if err := loose.Unmarshal(raw, a); err != nil {
				t.Fatal(err)
			}
			a.Following = true
			th := OfThread(a)
			if threads[th.Channel] == nil {
				threads[th.Channel] = &Threads{}
			}
			threads[th.Channel].Add(&th, +1)
		}
		var sum Totals
		for _, raw := range v.Channels {
			a := &queryv1.ChannelUnread{}
			if err := loose.Unmarshal(raw, a); err != nil {
				t.Fatal(err)
			}
			c := OfAnswer(a)
			c.Judge(v.Now)
			if v.Label != "" && (c.Details == nil || !slices.Contains(Split(c.Details.Labels), v.Label)) {
				continue
			}
			of := threads[c.Channel]
			if of == nil {
				of = &Threads{}
			}
			sum.Add(&c, of, +1)
		}
		var want queryv1.Totals
		if err := loose.Unmarshal(v.Totals, &want); err != nil {
			t.Fatal(err)
		}
		if got := (Totals{
			Unread: uint64(want.Unread), Mentions: uint64(want.Mentions), Channels: uint64(want.UnreadChannels), ThreadUnread: uint64(want.ThreadUnread),
			ThreadMentions: uint64(want.ThreadMentions), Threads: uint64(want.UnreadThreads), Badge: uint64(want.Badge), Flagged: uint64(want.Flagged),
			ArchivedChannels: uint64(want.Archived.UnreadChannels), ArchivedMentions: uint64(want.Archived.Mentions),
		}); sum != got {
			t.Errorf("%s: %+v, want %+v", v.Name, sum, got)
		}
	}
}
