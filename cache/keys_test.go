package cache

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// No two ids, pairs or threads share a key, whatever bytes they have, and a key yields its id.
func TestKeysAreOfOneIDEach(t *testing.T) {
	alphabet := []string{":", "%", "3", "A", "2", "5"}
	ids, last := alphabet, alphabet
	for range 3 {
		var longer []string
		for _, id := range last {
			for _, more := range alphabet {
				longer = append(longer, id+more)
			}
		}
		ids, last = append(ids, longer...), longer
	}
	keys := map[string]string{}
	take := func(key, of string) {
		t.Helper()
		if was, taken := keys[key]; taken && was != of {
			t.Fatalf("%q and %q share the key %q", was, of, key)
		}
		keys[key] = of
	}
	for _, id := range ids {
		if got, ok := UnescapeID(EscapeID(id)); !ok || got != id {
			t.Errorf("%q is written %q, which reads %q", id, EscapeID(id), got)
		}
		if got, ok := IDOfKey(InboxKey(""), InboxKey(id)); !ok || got != id {
			t.Errorf("the key %q is of %q, %v", InboxKey(id), got, ok)
		}
		if string(appendID(nil, []byte(id))) != EscapeID(id) {
			t.Errorf("%q is written in two ways", id)
		}
		for _, of := range []func(string) string{InboxKey, InboxThreadsKey, InboxGoneKey, ChannelLatestKey, ChannelStampKey, PresenceKey, UnreadChannel} {
			take(of(id), of("")+" of "+id)
		}
	}
	for _, a := range ids[:250] {
		for _, b := range ids[:250] {
			take(ReadPointerKey(a, b), "read-pointer of "+a+"\x00"+b)
			take(ThreadReadKey(a, b), "thread-read of "+a+"\x00"+b)
		}
	}
	for _, no := range []string{"a:b", "%", "a%3", "%3a", "%41"} {
		if id, ok := UnescapeID(no); ok {
			t.Errorf("%q reads %q: nothing is written so", no, id)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { EscapeID("plain-id") }); allocs > 0 {
		t.Errorf("a plain id costs %v allocations", allocs)
	}
}

// The pair of ann:x and y and the pair of ann and x:y have different pointers, and different keys
// of every other kind.
func TestColonsInIDs(t *testing.T) {
	warmAndCold(t, func(t *testing.T, r *rig, rdb *redis.Client) {
		reader, ctx := NewReader(rdb), t.Context()
		rdb.Set(ctx, epochKey, formatOf(rdb).String()+"x", 0)
		r.apply(t, reading(small("ann", "x:y", 1, 1), "m1", 1, t0), reading(small("ann:x", "y", 9, 9), "m9", 9, t0),
			inThread(reading(small("ann", "c", 3, 3), "m3", 3, t0), "x:y"), inThread(reading(small("ann:x", "c", 4, 4), "m4", 4, t0), "y"))
		r.applyChannels(t, head("x:y", 1, 1), head("x%3Ay", 2, 2))
		for user, of := range map[string]struct {
			channel, id, thread string
			seq                 uint32
		}{"ann": {"x:y", "m1", "m3", 1}, "ann:x": {"y", "m9", "m4", 9}} {
			if p, err := reader.ReadPointer(ctx, user, of.channel); err != nil || p.MessageID != of.id || p.Seq != of.seq {
				t.Errorf("%s in %s reads %+v, %v", user, of.channel, p, err)
			}
			if p, err := reader.ThreadRead(ctx, user, of.channel); err != nil || p.MessageID != of.thread {
				t.Errorf("%s in thread %s reads %+v, %v", user, of.channel, p, err)
			}
			if e, err := reader.Unread(ctx, user, of.channel); err != nil || e.LastReadSeq != of.seq {
				t.Errorf("%s in %s: %+v, %v", user, of.channel, e, err)
			}
		}
		if c, err := reader.Channel(ctx, "x:y"); err != nil || c.HeadSeq != 1 {
			t.Errorf("x:y: %+v, %v", c, err)
		}
		if c, err := reader.Channel(ctx, "x%3Ay"); err != nil || c.HeadSeq != 2 {
			t.Errorf("x%%3Ay: %+v, %v", c, err)
		}
	})
}

// A subscriber of a user gets only that user's messages.
func TestColonsInNamesOfPubSub(t *testing.T) {
	redises(t, func(t *testing.T, rdb *redis.Client) {
		r := own(t, rdb)
		sub := rdb.Subscribe(t.Context(), "unread:ann%3Ax")
		defer func() { _ = sub.Close() }()
		if _, err := sub.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.apply(t, small("ann%3Ax", "c", 1, 1), small("ann", "c", 2, 2), small("ann:x", "c", 3, 3))
		m, err := sub.ReceiveMessage(t.Context())
		if err != nil || !strings.Contains(m.Payload, `"user_id":"ann:x"`) {
			t.Errorf("heard %v, %v", m, err)
		}
	})
}
