package events_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

func TestUnreadKey(t *testing.T) {
	key := events.AppendUnreadKey([]byte("x"), []byte("u1"), []byte("c1"), nil)
	if string(key) != "xu1\x00c1" {
		t.Errorf("got %q", key)
	}
	user, channel, thread, ok := events.SplitUnreadKey(key[1:])
	if !ok || string(user) != "u1" || string(channel) != "c1" || thread != nil {
		t.Errorf("got %q %q %q %t", user, channel, thread, ok)
	}
	key = events.AppendUnreadKey(nil, []byte("u1"), []byte("c1"), []byte("t1"))
	if string(key) != "u1\x00c1\x00t1" {
		t.Errorf("got %q", key)
	}
	user, channel, thread, ok = events.SplitUnreadKey(key)
	if !ok || string(user) != "u1" || string(channel) != "c1" || string(thread) != "t1" {
		t.Errorf("got %q %q %q %t", user, channel, thread, ok)
	}
	for _, bad := range []string{"", "u", "u\x00", "\x00c", "u\x00\x00t", "u\x00c\x00", "u\x00c\x00t\x00", "u\x00c\x00t\x00x"} {
		if _, _, _, ok := events.SplitUnreadKey([]byte(bad)); ok {
			t.Errorf("%q was accepted", bad)
		}
	}
}
