package traffic

import (
	"bytes"
	"slices"
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

// TestHeavy: heavy users are members of their channels and of no others, the channels of a mix with
// fewer channels have the same members, and the number of pairs is that of the mix without them.
func TestHeavy(t *testing.T) {
	m := Mixes["G"]
	m.Channels, m.Users, m.Heavy = 3_200, 6_400, 10
	few := m
	few.Channels = 320
	in := map[int][]int{}
	for c := range m.Channels {
		channel := map[int]bool{}
		for j := range m.Members {
			u := m.Member(c, j)
			channel[u] = true
			if c < few.Channels && few.Member(c, j) != u {
				t.Fatalf("member %d of channel %d is %d, and %d of fewer channels", j, c, u, few.Member(c, j))
			}
			if u >= m.Users {
				in[u-m.Users] = append(in[u-m.Users], c)
			}
		}
		if len(channel) != m.Members || m.HasHeavy(c) != (m.Member(c, m.Members-1) >= m.Users) {
			t.Fatalf("channel %d has %d members, the last is %d", c, len(channel), m.Member(c, m.Members-1))
		}
	}
	if len(in) != m.Heavy {
		t.Fatalf("%d users are heavy", len(in))
	}
	for n, channels := range in {
		if len(channels) != 40 || !slices.Equal(channels, m.HeavyChannels(n)) {
			t.Errorf("user %d is in channels %v, want %v", n, channels, m.HeavyChannels(n))
		}
	}
	m.Heavy = 0
	if m.HasHeavy(0) || m.Member(0, m.Members-1) >= m.Users {
		t.Error("a mix has heavy users without Heavy")
	}
}
