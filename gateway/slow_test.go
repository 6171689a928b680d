package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
)

// A client that reads nothing while messages come is closed as too slow, and its queue stays
// limited. Other clients continue. When it reconnects, it gets everything.
func TestASlowClientIsClosed(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{QueueBytes: 192 << 10}}})
	emit(t, s.URL, joined("general", "ann", "bob"))
	slow, bob := idle(t, s.URL+"/v1/socket?user_id=ann", nil), dialed(t, s.URL, "bob")
	slow.until("inbox", "")
	preview := strings.Repeat("x", 140)
	const total = 8_000
	for at := 0; at < total; at += 250 {
		list := make([]string, 250)
		for i := range list {
			list[i] = strings.Replace(posted("general", fmt.Sprintf("m%d", at+i+1), "cleo"), fmt.Sprintf("text of m%d", at+i+1), preview, 1)
		}
		emit(t, s.URL, list...)
		for range list { // bob keeps up
			bob.until("message.new", "general")
		}
		bob.seen, bob.read = bob.seen[:1], 1
	}
	if code := slow.closed(); code != gateway.CloseSlow && code != -1 { // -1: the client did not even read the close in time
		t.Errorf("closed with %d", code)
	}
	again := dial(t, s.URL+"/v1/socket?user_id=ann", nil)
	again.until("inbox", "", totalUnread(total))
}

// A stopping gateway tells all clients to reconnect elsewhere, and accepts no new ones.
func TestDrain(t *testing.T) {
	s, err := dev.Start(within(t), dev.Config{Gateway: gateway.Config{DrainFor: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	var clients []*client
	for i := range 20 {
		clients = append(clients, dialed(t, s.URL, fmt.Sprintf("u%d", i)))
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Close() }()
	for i, c := range clients {
		if code := c.closed(); code != websocket.StatusServiceRestart {
			t.Errorf("connection %d: closed with %d", i, code)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if res, err := http.Get(s.URL + "/v1/socket?user_id=ann"); err == nil {
		t.Errorf("after the stop: %s", res.Status)
		res.Body.Close()
	}
}

// Nothing about a channel reaches a user who has left it: neither messages nor counts, even if
// frames were queued.
func TestWhoLeftHearsNothing(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann", "bob"), joined("mark", "ann", "bob"))
	ann := dialed(t, s.URL, "ann")
	emit(t, s.URL, posted("general", "m1", "bob"))
	ann.until("message.new", "general", id("m1"))
	ann.do("channel.focus", `"channel_id":"general"`)
	emit(t, s.URL, left("general", "ann"), posted("general", "secret", "bob"))
	f := ann.until("unread.updated", "general", func(f frame) bool { return f["member"] == false })
	if f.number("unread") != 0 || f.number("totals.unread") != 0 {
		t.Errorf("left: %v", f)
	}
	if f := ann.do("mark_read", `"channel_id":"general","message_id":"m1"`); f.text("code") != "not_found" {
		t.Errorf("a command after leaving: %v", f)
	}
	// She is back, and gets later messages only.
	emit(t, s.URL, joined("general", "ann"), posted("general", "m3", "bob"))
	ann.until("message.new", "general", id("m3"))
	for _, f := range ann.seen {
		if f["message_id"] == "secret" || f.text("latest.message_id") == "secret" {
			t.Errorf("she heard: %v", f)
		}
	}
}
