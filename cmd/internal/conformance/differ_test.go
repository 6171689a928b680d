package conformance

import (
	"testing"
	"time"
)

// An answer may omit zeros, write names in camel case and numbers as texts, and have more fields
// than the story. Anything else that differs from the story is a difference under the name of its
// field.
func TestDiffer(t *testing.T) {
	for _, c := range []struct {
		want, got, fields string
	}{
		{`{"unread":3,"member":true}`, `{"unread":3,"member":true,"more":[1]}`, ""},
		{`{"unread":3}`, `{"unread":"3"}`, ""},
		{`{"unread":3}`, `{"unread":4}`, "unread"},
		{`{"unread":3}`, `{}`, "unread"},
		{`{"unread":0,"member":false,"labels":[],"id":""}`, `{}`, ""},
		{`{"unread":0}`, `{"unread":1}`, "unread"},
		{`{"first_unread":{"message_id":"m1"}}`, `{"firstUnread":{"messageId":"m1","seq":1}}`, ""},
		{`{"first_unread":null}`, `{"first_unread":{"message_id":"m1"}}`, "first_unread"},
		{`{"first_unread":null}`, `{"first_unread":null}`, ""},
		{`{"first_unread":null}`, `{"first_unread":{"message_id":"","seq":0}}`, ""},
		{`{"first_unread":{"message_id":"m1"}}`, `{}`, "first_unread.message_id"},
		{`{"last_read":{"at":"2026-01-02T03:04:05Z"}}`, `{"last_read":{"at":"2026-01-02T04:04:05.000+01:00"}}`, ""},
		{`{"last_read":{"at":"2026-01-02T03:04:05Z"}}`, `{"last_read":{"at":"2026-01-02T03:04:06Z"}}`, "last_read.at"},
		{`{"ids":["a","b"]}`, `{"ids":["b","a"]}`, "ids[0] ids[1]"},
		{`{"ids":["a","b"]}`, `{"ids":["a"]}`, "ids"},
		{`{"readers":[{"user_id":"a","seq":1},{"user_id":"b"}]}`, `{"readers":[{"user_id":"b"},{"user_id":"a","seq":1}]}`, ""},
		{`{"readers":[{"user_id":"a","seq":1}]}`, `{"readers":[{"user_id":"a","seq":2}]}`, "readers[a].seq"},
		{`{"readers":[{"user_id":"a"}]}`, `{"readers":[{"user_id":"b"}]}`, "readers[a]"},
		{`{"totals":{"unread":1}}`, `{"totals":7}`, "totals"},
	} {
		var want, got map[string]any
		if decode([]byte(c.want), &want) != nil || decode([]byte(c.got), &got) != nil {
			t.Fatal(c)
		}
		fields := ""
		for i, d := range (&Ask{Want: want}).differences(got) {
			if i > 0 {
				fields += " "
			}
			fields += d.Field
		}
		if fields != c.fields {
			t.Errorf("%s, and it is %s: %q differ, want %q", c.want, c.got, fields, c.fields)
		}
	}
}

// One element of a list is found by what it must have, and must not be there if it is absent.
func TestFind(t *testing.T) {
	var got map[string]any
	if err := decode([]byte(`{"threads":[{"thread_id":"m1","unread":1},{"thread_id":"m2","unread":2}]}`), &got); err != nil {
		t.Fatal(err)
	}
	find := func(id string) *Find { return &Find{List: "threads", Where: map[string]any{"thread_id": id}} }
	for _, c := range []struct {
		ask  Ask
		want int
	}{
		{Ask{Find: find("m2"), Want: map[string]any{}}, 0},
		{Ask{Find: find("m2"), Want: map[string]any{"thread_id": "m3"}}, 1},
		{Ask{Find: find("m3"), Want: map[string]any{}}, 1},
		{Ask{Find: find("m3"), Absent: true}, 0},
		{Ask{Find: find("m1"), Absent: true}, 1},
	} {
		if d := c.ask.differences(got); len(d) != c.want {
			t.Errorf("%+v: %v, want %d", c.ask, d, c.want)
		}
	}
}

// Ids get the prefix of the run, times move, and an event for many becomes many.
func TestBind(t *testing.T) {
	var e Event
	if err := decode([]byte(`{"times":2,"first":9,"every_ms":1000,"event":{"message":{"channel_id":"c","occurred_at":2500,
		"message_posted":{"message_id":"m{n}","sender_id":"b","preview":"hi b","mentions":["a"]}}}}`), &e); err != nil {
		t.Fatal(err)
	}
	b := binding{prefix: "p-", start: time.UnixMilli(0)}
	got := text(b.events([]Event{e}))
	want := `[{"message":{"channel_id":"p-c","message_posted":{"mentions":["p-a"],"message_id":"p-m9","preview":"hi b","sender_id":"p-b"},"occurred_at":"1970-01-01T00:00:02.5Z"}},` +
		`{"message":{"channel_id":"p-c","message_posted":{"mentions":["p-a"],"message_id":"p-m10","preview":"hi b","sender_id":"p-b"},"occurred_at":"1970-01-01T00:00:03.5Z"}}]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if plain := b.plain("thread[p-a]"); plain != "thread[a]" {
		t.Errorf("plain %q", plain)
	}
}
