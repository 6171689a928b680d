package gateway_test

import (
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// A frame's id is unchanged in its answer: strings and numbers, including 0. A frame without one
// gets an answer only if it is refused.
func TestIDsAreEchoed(t *testing.T) {
	s := start(t, dev.Config{})
	folded(t, s.URL, "ann", "general", joined("general", "ann"))
	c := dialed(t, s.URL, "ann")
	for sent, want := range map[string]any{
		`"a"`: "a", `"0"`: "0", `0`: 0.0, `7`: 7.0, `-1`: -1.0, `1.5e3`: 1500.0, `9007199254740993`: 9007199254740992.0,
		`"\u00e9\n\""`: "é\n\"",
	} {
		c.send(`{"type":"sync","id":%s}`, sent)
		if f := c.until("ack", ""); f["id"] != want {
			t.Errorf("id %s: %v", sent, f)
		}
		c.send(`{"type":"no.such","id":%s}`, sent)
		if f := c.until("error", ""); f["id"] != want {
			t.Errorf("id %s, refused: %v", sent, f)
		}
		c.send(`{"type":"read_state","channel_id":"general","id":%s}`, sent)
		if f := c.until("read_state", "general"); f["id"] != want {
			t.Errorf("id %s, read_state: %v", sent, f)
		}
	}
	for _, sent := range []string{`{}`, `["a"]`, `true`} {
		c.send(`{"type":"sync","id":%s}`, sent)
		if f := c.until("error", ""); f.text("code") != "invalid_argument" || f["id"] != nil {
			t.Errorf("id %s: %v", sent, f)
		}
	}
	for _, sent := range []string{`null`, `""`} {
		c.send(`{"type":"no.such","id":%s}`, sent)
		if f := c.until("error", ""); f["id"] != nil {
			t.Errorf("id %s: %v", sent, f)
		}
	}
}

// A private read does not hide a later public one: a user who reads the same messages in public is
// shown to the others. A second public read of them is dropped.
func TestPublicReadAfterAPrivateOne(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann", "bob"))
	ann, bob := dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob")
	emit(t, s.URL, posted("general", "m1", "bob"))
	ann.until("message.new", "general", id("m1"))

	ann.do("mark_read", `"channel_id":"general","message_id":"m1","private":true`)
	ann.until("read_pointer.updated", "general")
	if f := ann.do("mark_read", `"channel_id":"general","message_id":"m1"`); len(f.list("after")) != 1 {
		t.Fatalf("in public: %v", f)
	}
	bob.until("receipt.read", "general", func(f frame) bool {
		r := f.list("readers")[0].(map[string]any)
		return r["user_id"] == "ann" && r["message_id"] == "m1"
	})
	// Every read that was written is in an update before the answer to this frame.
	if f := ann.do("channel.mute", `"channel_id":"general","muted":true`); f["type"] != "ack" {
		t.Fatalf("mute: %v", f)
	}
	ann.until("unread.updated", "general", func(f frame) bool { return f["muted"] == true })
	if f := ann.do("mark_read", `"channel_id":"general","message_id":"m1"`); f["type"] != "ack" || len(f.list("after")) != 0 {
		t.Errorf("in public again: %v", f)
	}
}

// The gateway answers the frame with the token like any other: after hello, or before the close.
func TestAuthIsAnswered(t *testing.T) {
	s := start(t, dev.Config{Verifier: authtest.Verifier(t), Gateway: gateway.Config{OwnAccount: func() error { return nil }}})
	socket := s.URL + "/v1/socket"
	c := dial(t, socket, nil)
	c.send(`{"type":"auth","id":1,"token":%q}`, authtest.Token(t, "ann", time.Hour))
	for _, want := range []string{"hello", "ack", "inbox"} {
		if f := c.next(); f["type"] != want || (want == "ack" && f["id"] != 1.0) {
			t.Errorf("%v; want %s", f, want)
		}
	}
	for _, sent := range []string{`{"type":"auth","id":"x","token":"forged"}`, `{"type":"sync","id":"x"}`} {
		c := dial(t, socket, nil)
		c.send("%s", sent)
		if f := c.next(); f["type"] != "error" || f["id"] != "x" || f["code"] != "unauthenticated" {
			t.Errorf("%s: %v", sent, f)
		}
		if code := c.closed(); code != gateway.CloseToken {
			t.Errorf("%s: closed with %d", sent, code)
		}
	}
}

// A connection that sends no token is closed with the code for a missing one.
func TestNoTokenCame(t *testing.T) {
	s := start(t, dev.Config{
		Verifier: authtest.Verifier(t),
		Gateway:  gateway.Config{OwnAccount: func() error { return nil }, Limits: gateway.Limits{AuthTimeout: 50 * time.Millisecond}},
	})
	if code := dial(t, s.URL+"/v1/socket", nil).closed(); code != gateway.CloseToken {
		t.Errorf("closed with %d", code)
	}
}
