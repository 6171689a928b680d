package projections

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestSayAgain: what changed since a position is drained once more. Of a channel with a new message
// that is every member, also in a large one.
func TestSayAgain(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	post := func(channel, id, thread string) {
		f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte(channel), MessageID: []byte(id), SenderID: []byte("ann"), ThreadID: []byte(thread)})
	}
	read := func(channel, user, id string) {
		f.read(events.Read{Kind: events.KindReadUpTo, ChannelID: []byte(channel), UserID: []byte(user), Target: events.TargetMessageID, MessageID: []byte(id)})
	}
	f.join("quiet", "ann", "bob")
	f.join("posted", "ann", "bob")
	f.join("readin", "ann", "bob")
	for _, channel := range []string{"quiet", "posted", "readin"} {
		post(channel, channel+"1", "")
	}
	var d Deltas
	drain := func() (keys []string) {
		d.Reset()
		p.Drain(&d, true)
		for _, r := range d.Records {
			if r.Topic != OutReceipts {
				keys = append(keys, string(r.Key))
			}
		}
		slices.Sort(keys)
		return keys
	}
	drain()
	since := p.rules.Position()
	post("posted", "posted2", "posted1")
	read("readin", "bob", "readin1")
	first := drain()
	if again := drain(); len(again) > 0 {
		t.Fatalf("%q is drained twice without being asked for", again)
	}
	p.SayAgain(since)
	want := []string{"ann\x00posted", "ann\x00posted\x00posted1", "bob\x00posted", "bob\x00readin", "posted"}
	if again := drain(); !slices.Equal(again, want) {
		t.Errorf("drained again %q, want %q", again, want)
	}
	for _, key := range first {
		if !slices.Contains(want, key) {
			t.Errorf("%q was drained first, and not again", key)
		}
	}
	p.SayAgain(p.rules.Position())
	if again := drain(); len(again) > 0 {
		t.Errorf("%q is drained again, and nothing has changed since", again)
	}
}
