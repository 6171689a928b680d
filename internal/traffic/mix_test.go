package traffic

import (
	"bytes"
	"testing"

	"github.com/tidemark/tidemark/events"
)

// TestMix: every event decodes, the joins create the members of the other events, and reads name an
// earlier message of their channel. Two generators of a mix agree.
func TestMix(t *testing.T) {
	for _, name := range []string{"S", "R"} {
		t.Run(name, func(t *testing.T) {
			m := Mixes[name]
			m.Channels = 1_000
			testMix(t, m)
		})
	}
}

func testMix(t *testing.T, m Mix) {
	g, again := New(m), New(m)
	var d events.Decoder
	var msg events.Message
	var read events.Read
	var news events.Delivery
	members := map[string]bool{}
	g.Joins(func(e *Event) {
		if err := d.Message(e.Value, e.Millis, &msg); err != nil || msg.Kind != events.KindMembersJoined {
			t.Fatalf("%v, kind %v", err, msg.Kind)
		}
		for _, id := range msg.IDs {
			members[string(msg.ChannelID)+" "+string(id)] = true
		}
	})
	again.Joins(func(*Event) {})
	if len(members) != m.Channels*m.Members {
		t.Fatalf("%d pairs", len(members))
	}
	posted := map[string]bool{}
	messages := 0
	const n = 32_000
	for range n {
		e, o := g.Next(), again.Next()
		if e.Input != o.Input || !bytes.Equal(e.Value, o.Value) || e.Millis != o.Millis {
			t.Fatal("two generators of one mix differ")
		}
		if e.Input == events.Deliveries {
			if err := d.Delivery(e.Value, e.Millis, &news); err != nil {
				t.Fatal(err)
			}
			if !posted[string(news.ChannelID)+" "+string(news.MessageID)] || !members[string(news.ChannelID)+" "+string(news.UserID)] {
				t.Fatalf("a delivery of %s in %s to %s", news.MessageID, news.ChannelID, news.UserID)
			}
			continue
		}
		if e.Input == events.Reads {
			if err := d.Read(e.Value, e.Millis, &read); err != nil {
				t.Fatal(err)
			}
			if !posted[string(read.ChannelID)+" "+string(read.MessageID)] || !members[string(read.ChannelID)+" "+string(read.UserID)] {
				t.Fatalf("a read of %s in %s by %s", read.MessageID, read.ChannelID, read.UserID)
			}
			continue
		}
		messages++
		if err := d.Message(e.Value, e.Millis, &msg); err != nil {
			t.Fatal(err)
		}
		key := string(msg.ChannelID) + " " + string(msg.MessageID)
		if posted[key] || !members[string(msg.ChannelID)+" "+string(msg.SenderID)] {
			t.Fatalf("message %s twice, or of a stranger", key)
		}
		posted[key] = true
	}
	if messages != (n+m.Reads+m.Deliveries)/(1+m.Reads+m.Deliveries) {
		t.Fatalf("%d messages in %d events", messages, n)
	}
}
