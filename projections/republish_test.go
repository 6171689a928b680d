package projections

import (
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// TestRepublish: Republish drains the changes since a position once more. For a channel with a new
// message these are all members, also in a large channel.
func TestRepublish(t *testing.T) {
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
	p.Republish(since)
	want := []string{"ann\x00posted", "ann\x00posted\x00posted1", "bob\x00posted", "bob\x00readin", "posted"}
	if again := drain(); !slices.Equal(again, want) {
		t.Errorf("drained again %q, want %q", again, want)
	}
	for _, key := range first {
		if !slices.Contains(want, key) {
			t.Errorf("%q was drained first, and not again", key)
		}
	}
	p.Republish(p.rules.Position())
	if again := drain(); len(again) > 0 {
		t.Errorf("%q is drained again, and nothing has changed since", again)
	}
}

// TestCutsThatForget: a cut reports if Republish finds less in the store than was published:
// nothing of a deleted channel, of a thread in which an erased user has nothing, and of a channel
// that is not in memory.
func TestCutsThatForget(t *testing.T) {
	p := mustOpen(t, vfs.NewMem(), testIdentity())
	defer p.Close()
	f := &feed{p: p, now: 1000}
	post := func(id, thread string) {
		f.message(events.Message{Kind: events.KindMessagePosted, ChannelID: []byte("c"), MessageID: []byte(id), SenderID: []byte("ann"), ThreadID: []byte(thread)})
	}
	read := func(channel string, r events.Read) {
		r.ChannelID, r.UserID = []byte(channel), []byte("bob")
		f.read(r)
	}
	for _, c := range []struct {
		what    string
		do      func()
		forgets bool
	}{
		{"a message", func() { f.join("c", "ann", "bob"); post("m1", ""); post("m2", "m1") }, false},
		{"a read", func() {
			read("c", events.Read{Kind: events.KindReadUpTo, Target: events.TargetMessageID, MessageID: []byte("m1")})
		}, false},
		{"a follow", func() { read("c", events.Read{Kind: events.KindThreadFollowed, ThreadID: []byte("m1")}) }, false},
		{"an erasure", func() { read("c", events.Read{Kind: events.KindUserErased}) }, true},
		{"a read where nobody knows the channel", func() { read("unknown", events.Read{Kind: events.KindFlagSet, Flagged: true}) }, true},
		{"another message", func() { post("m3", "") }, false},
		{"a deletion", func() {
			f.message(events.Message{Kind: events.KindChannelDeleted, ChannelID: []byte("c")})
		}, true},
		{"a join", func() { f.join("another", "ann") }, false},
	} {
		c.do()
		var d Deltas
		p.Drain(&d, true)
		cut, err := p.Cut()
		if err != nil {
			t.Fatal(err)
		}
		if cut.Forgets() != c.forgets {
			t.Errorf("after %s the cut forgets something: %v", c.what, cut.Forgets())
		}
		if err := cut.Apply(); err != nil {
			t.Fatal(err)
		}
	}
}
