package gateway

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// unlocked fails the test unless f returns although another goroutine holds the locks of these
// shards.
func unlocked(t *testing.T, what string, all []*hub, f func()) {
	t.Helper()
	for _, h := range all {
		h.mu.Lock()
		defer h.mu.Unlock()
	}
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Errorf("%s waits for a shard's lock", what)
	}
}

// Encoding needs no shard: the connection that writes frames encodes them, while others change the
// counts of the same shard. The gateway does not decode a delta that no connection needs, and a
// delta for a user waits only for that user's shard.
func TestShardsAreIndependent(t *testing.T) {
	g := bare()
	g.cfg.Now = time.Now
	g.hubs = newHubs(4, g.alarms)
	var users []*user // one in each shard
	for i := 0; len(users) < 4; i++ {
		id := fmt.Sprint("user", i)
		if h := g.hubs.of(id); len(h.users) == 0 {
			u := &user{id: id, hub: h, entries: map[string]*entry{}, inboxRead: true}
			h.users[id] = u
			users = append(users, u)
		}
	}
	record := func(u string) *kgo.Record {
		d := &events.UnreadDelta{
			UserID: []byte(u), ChannelID: []byte("general"), Member: true, Unread: 3, Stamp: events.Stamp{FoldVersion: 1, M: 10},
		}
		return &kgo.Record{Key: events.AppendUnreadKey(nil, []byte(u), []byte("general"), nil), Value: events.AppendUnreadDelta(nil, d)}
	}
	var d decoder
	for _, u := range users {
		device := g.device(t, u)
		var others []*hub
		for _, h := range g.hubs.list {
			if h != u.hub {
				others = append(others, h)
			}
		}
		unlocked(t, "a delta of another shard", others, func() {
			if err := g.takeDelta(record(u.id), &d); err != nil {
				t.Error(err)
			}
		})
		unlocked(t, "the encoding of a frame", g.hubs.list, func() {
			list := device.waiting(t)
			if len(list) != 1 || list[0]["unread"] != 3.0 {
				t.Errorf("%v wait", list)
			}
		})
	}
	bad := record("nobody")
	bad.Value = []byte{0xff}
	if err := g.takeDelta(bad, &d); err != nil {
		t.Errorf("the delta of a user who is not here was decoded: %v", err)
	}
	bad.Key = record(users[0].id).Key
	if err := g.takeDelta(bad, &d); err == nil {
		t.Error("the delta of a user who is here was not decoded")
	}
}

// The gateway decodes values before it takes a shard's lock, including values of channels that
// every shard has. It skips a value that cannot be decoded even while all locks are held.
func TestDecodingNeedsNoShard(t *testing.T) {
	g := bare()
	g.cfg.Now = time.Now
	g.hubs = newHubs(4, g.alarms)
	for _, h := range g.hubs.list {
		h.mu.With(func() { h.channelOf("general") })
	}
	if n := g.hubs.interest.Of([]byte("general")); n != 1<<4-1 {
		t.Fatalf("shards that have the channel: %b", n)
	}
	var d decoder
	for _, c := range []struct {
		what string
		take func(*kgo.Record, *decoder) error
		good []byte // a value that decodes, but is not of this channel's record; nil: none is tried
		bad  bool   // whether take returns an error
	}{
		{"a message", g.takeMessage, []byte(`{"channel_id":"nobody's","message_posted":{"message_id":"m","sender_id":"ann"}}`), false},
		{"a channel's record", g.takeChannel, nil, true},
		{"receipts", g.takeReceipts, nil, true},
	} {
		unlocked(t, "the decoding of "+c.what, g.hubs.list, func() {
			if err := c.take(&kgo.Record{Key: []byte("general"), Value: []byte{0xff}}, &d); err != nil != c.bad {
				t.Errorf("%s that cannot be decoded: %v", c.what, err)
			}
			if c.good == nil {
				return
			}
			if err := c.take(&kgo.Record{Key: []byte("nobody's"), Value: c.good, Offset: 6}, &d); err != nil || string(d.message.ChannelID) != "nobody's" {
				t.Errorf("%s of a channel that no shard has: %v, decoded %q", c.what, err, d.message.ChannelID)
			}
		})
	}
	if seen := g.seen[0].Load(); seen != 7 {
		t.Errorf("seen up to %d, want 7", seen)
	}
}
