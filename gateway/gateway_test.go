package gateway_test

import (
	"fmt"
	"testing"

	"github.com/tidemark/tidemark/app/dev"
)

// A message reaches both members with its seq, and is unread only for the member who did not write
// it. Reading it on one device moves badge and pointer on the user's other device, which gets the
// id of the first.
func TestTwoPeopleThreeDevices(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann", "bob"), joined("other", "bob"))
	ann, phone, bob := dialed(t, s.URL, "ann"), dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob")
	emit(t, s.URL, posted("general", "m1", "bob"), posted("general", "m2", "bob"), posted("other", "o1", "bob"))

	for _, c := range []*client{ann, phone, bob} {
		if f := c.until("message.new", "general", id("m2")); f.number("seq") != 2 || f.text("sender_id") != "bob" ||
			f.text("preview") != "text of m2" || f.text("at") == "" {
			t.Errorf("message.new: %v", f)
		}
	}
	if f := ann.do("mark_read", `"channel_id":"general","message_id":"m2"`); f["type"] != "ack" || len(f.list("after")) != 1 {
		t.Fatalf("mark_read: %v", f)
	}
	f := phone.until("unread.updated", "general", unreadIs(0), totalUnread(0))
	if f.text("instance_id") != ann.seen[0].text("instance_id") || f.text("last_read.message_id") != "m2" {
		t.Errorf("the other device: %v", f)
	}
	if f := phone.until("read_pointer.updated", "general"); f.text("last_read_id") != "m2" || f.text("instance_id") == "" {
		t.Errorf("pointer: %v", f)
	}
	if f := ann.do("mark_unread", `"channel_id":"general","message_id":"m2"`); f["type"] != "ack" {
		t.Fatalf("mark_unread: %v", f)
	}
	if f := phone.until("unread.updated", "general", unreadIs(1)); f.number("read_epoch") != 2 || f.text("first_unread.message_id") != "m2" {
		t.Errorf("after the mark: %v", f)
	}
	if f := ann.do("mark_unread", `"channel_id":"general","message_id":"m1"`); f["type"] != "ack" {
		t.Fatalf("mark_unread: %v", f)
	}
	if f := phone.until("read_pointer.updated", "general", func(f frame) bool { return f["last_read_id"] == "" }); f["last_read_at"] != "" {
		t.Errorf("a mark left no pointer: %v", f)
	}
	if ann.sees("message.new", "other") || ann.sees("unread.updated", "other") || phone.sees("message.new", "other") {
		t.Error("ann heard of a channel that is not hers")
	}
	if f := ann.do("mark_read", `"channel_id":"other","message_id":"o1"`); f.text("code") != "not_found" {
		t.Errorf("a channel that is not hers: %v", f)
	}
}

// The gateway reads new messages of a focused channel for its user, and no older ones. After the
// user marks a message unread, it reads none until they focus the channel again.
func TestAutoRead(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann", "bob"))
	ann := dialed(t, s.URL, "ann")
	emit(t, s.URL, posted("general", "m1", "bob"))
	ann.until("unread.updated", "general", unreadIs(1))
	if f := ann.do("channel.focus", `"channel_id":"general"`); f["type"] != "ack" {
		t.Fatalf("focus: %v", f)
	}
	emit(t, s.URL, posted("general", "m2", "bob"))
	ann.until("unread.updated", "general", unreadIs(0))
	ann.do("mark_unread", `"channel_id":"general","message_id":"m2"`)
	ann.until("unread.updated", "general", unreadIs(1))
	emit(t, s.URL, posted("general", "m3", "bob"))
	ann.until("unread.updated", "general", unreadIs(2))
	// A read of m3 would be in chat.reads before this mute, and in its delta.
	ann.do("channel.mute", `"channel_id":"general","muted":true`)
	if f := ann.until("unread.updated", "general", func(f frame) bool { return f["muted"] == true }); f.number("unread") != 2 ||
		f.number("totals.unread") != 0 {
		t.Errorf("after a mark, focused: %v", f)
	}
	ann.do("channel.focus", `"channel_id":"general"`)
	emit(t, s.URL, posted("general", "m4", "bob"))
	ann.until("unread.updated", "general", unreadIs(0))
	ann.do("channel.blur", `"channel_id":"general"`)
	emit(t, s.URL, posted("general", "m5", "bob"))
	ann.until("message.new", "general", id("m5"))
	ann.do("channel.mute", `"channel_id":"general","muted":false`)
	if f := ann.until("unread.updated", "general", func(f frame) bool { return f["muted"] == false }); f.number("unread") != 1 {
		t.Errorf("blurred: %v", f)
	}
}

// Focusing a flagged channel writes a read up to its head: it removes the flag and reads what was
// unread. In a channel without messages it only removes the flag. Without a flag, a focus reads no
// existing message.
func TestFocusOfAFlaggedChannel(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann", "bob"), joined("empty", "ann", "bob"), joined("plain", "ann", "bob"))
	ann, phone := dialed(t, s.URL, "ann"), dialed(t, s.URL, "ann")
	emit(t, s.URL, posted("plain", "p1", "bob"), posted("general", "m1", "bob"), posted("general", "m2", "bob"))
	phone.until("unread.updated", "general", unreadIs(2))
	flagged := func(is bool) func(frame) bool { return func(f frame) bool { return (f["flagged"] == true) == is } }
	for _, channel := range []string{"general", "empty"} {
		if f := ann.do("channel.flag", fmt.Sprintf(`"channel_id":%q,"flagged":true`, channel)); f["type"] != "ack" {
			t.Fatalf("flag %s: %v", channel, f)
		}
		phone.until("unread.updated", channel, flagged(true))
	}
	before := phone.read // the frames of a read come in any order
	for _, channel := range []string{"plain", "general", "empty"} {
		if f := ann.do("channel.focus", fmt.Sprintf(`"channel_id":%q`, channel)); f["type"] != "ack" {
			t.Fatalf("focus of %s: %v", channel, f)
		}
	}
	if f := phone.until("unread.updated", "general", flagged(false)); f.number("unread") != 0 {
		t.Errorf("after the focus of the flagged channel: %v", f)
	}
	phone.read = before
	if f := phone.until("read_pointer.updated", "general"); f.text("last_read_id") != "m2" {
		t.Errorf("its pointer: %v", f)
	}
	phone.read = before
	if f := phone.until("unread.updated", "empty", flagged(false)); f.number("unread") != 0 {
		t.Errorf("after the focus of the empty one: %v", f)
	}
	if phone.sees("read_pointer.updated", "plain") || phone.sees("read_pointer.updated", "empty") {
		t.Error("a focus wrote a read of a channel that has no flag or no message")
	}
}
