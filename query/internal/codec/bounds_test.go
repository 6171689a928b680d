package codec

import (
	"strconv"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/query/ingestv1"
)

// field is a length-delimited field of a Protobuf message.
func field(num int, value []byte) []byte {
	out := []byte{byte(num<<3 | 2)}
	for n := len(value); ; n >>= 7 {
		if n < 0x80 {
			return append(append(out, byte(n)), value...)
		}
		out = append(out, byte(n)|0x80)
	}
}

// The bounds accept everything that a Publish may contain, in either encoding, and refuse the first
// element beyond.
func TestBoundsOfAPublish(t *testing.T) {
	within := bounds{tokens: func() int { return 12 }}
	events := func(n, users int) *ingestv1.PublishRequest {
		list := make([]string, users)
		for i := range list {
			list[i] = `ann,"{[` + strconv.Itoa(i) // brackets within a string do not count
		}
		m := &ingestv1.PublishRequest{}
		for range n {
			m.Events = append(m.Events, &ingestv1.Event{Event: &ingestv1.Event_Message{Message: &eventsv1.MessageEvent{
				ChannelId: "general", Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: list}},
			}}})
		}
		return m
	}
	for _, c := range []struct {
		name string
		m    *ingestv1.PublishRequest
		ok   bool
	}{
		{"none", events(0, 0), true},
		{"1,000 events", events(MaxEvents, 1), true},
		{"1,001 events", events(MaxEvents+1, 1), false},
		{"1,000 events of 300 users", events(MaxEvents, 300), true},
		{"1,000 events of 1,000 users", events(MaxEvents, 1000), false},
		{"one of 400,000 users", events(1, 400_000), true},
		{"one of 600,000 users", events(1, 600_000), false},
	} {
		b, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		if err := within.proto(c.m, b); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.name == "1,000 events of 1,000 users" || c.name == "one of 600,000 users" {
			continue // in JSON the bytes exceed their limit before the elements do
		}
		if b, err = protojson.Marshal(c.m); err != nil {
			t.Fatal(err)
		}
		if err := within.json(c.m, b); (err == nil) != c.ok {
			t.Errorf("%s, in JSON: %v", c.name, err)
		}
	}
}

func FuzzBounds(f *testing.F) {
	f.Add([]byte(`{"events":[{"message":{"channel_id":"c"}}]}`))
	f.Add(field(1, field(1, field(14, []byte{0x0a, 0, 0x0a, 1, 'a'}))))
	f.Add([]byte(`"\`))
	within := bounds{tokens: func() int { return 12 }}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &ingestv1.PublishRequest{}
		if err := proto.Unmarshal(b, m); err == nil && within.proto(m, b) == nil && len(m.Events) > MaxEvents {
			t.Errorf("%d events are within bounds", len(m.Events))
		}
		j := &ingestv1.PublishRequest{}
		if err := protojson.Unmarshal(b, j); err == nil && within.json(j, b) == nil && len(j.Events) > MaxEvents {
			t.Errorf("%d events in JSON are within bounds", len(j.Events))
		}
	})
}
