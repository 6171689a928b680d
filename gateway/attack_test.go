package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Any invalid frame is answered with an explanation, and the connection continues.
func TestMalformedFrames(t *testing.T) {
	s := start(t, dev.Config{})
	emit(t, s.URL, joined("general", "ann"))
	c := dialed(t, s.URL, "ann")
	for sent, code := range map[string]string{
		`{`: "invalid_argument", `[]`: "invalid_argument", `null`: "invalid_argument", `"x"`: "invalid_argument", ``: "invalid_argument",
		`{"type":"mark_read"}`:                                             "invalid_argument",
		`{"type":"no.such"}`:                                               "invalid_argument",
		`{"type":"auth","token":"x"}`:                                      "invalid_argument",
		`{"type":"channel.focus","channel_id":"a\nb"}`:                     "invalid_argument",
		`{"type":"mark_read","channel_id":7}`:                              "invalid_argument",
		`{"type":"mark_unread","channel_id":"c","head_seq":-1}`:            "invalid_argument",
		`{"type":"messages_read","channel_id":"general","message_ids":[]}`: "invalid_argument",
		`{"type":"channel.mute","channel_id":"general"}`:                   "invalid_argument",
		`{"type":"thread.follow","channel_id":"general"}`:                  "invalid_argument",
		`{"type":"mark_read","channel_id":"theirs","message_id":"m"}`:      "not_found",
		`{"type":"channel.focus","channel_id":"theirs"}`:                   "not_found",
		`{"type":"read_state","channel_id":"theirs"}`:                      "not_found",
	} {
		c.send("%s", sent)
		if f := c.until("error", ""); f.text("code") != code || f.text("message") == "" {
			t.Errorf("%s: %v", sent, f)
		}
	}
	ids := strings.Repeat(`"m",`, 1000) + `"m"`
	if f := c.do("messages_read", `"channel_id":"general","message_ids":[`+ids+`]`); f.text("code") != "resource_exhausted" {
		t.Errorf("1,001 ids: %v", f)
	}
	if f := c.do("sync", ""); f["type"] != "ack" {
		t.Errorf("after all that: %v", f)
	}
	if err := c.ws.Write(within(t), websocket.MessageBinary, []byte{1}); err != nil {
		t.Fatal(err)
	}
	if code := c.closed(); code != websocket.StatusUnsupportedData {
		t.Errorf("a binary frame: %d", code)
	}
}

func TestFrameSize(t *testing.T) {
	s := start(t, dev.Config{})
	c := dialed(t, s.URL, "ann")
	frame := func(n int) string {
		f := `{"type":"sync","id":"big"}`
		return f + strings.Repeat(" ", n-len(f))
	}
	c.send("%s", frame(65_536))
	if f := c.until("ack", ""); f["id"] != "big" {
		t.Errorf("64 KiB: %v", f)
	}
	c.send("%s", frame(65_537))
	if code := c.closed(); code != websocket.StatusMessageTooBig {
		t.Errorf("a byte more: %d", code)
	}
}

func TestFocusLimit(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesBurst: 10_000}}})
	var list []string
	for i := range 130 {
		list = append(list, joined(fmt.Sprintf("c%d", i), "ann"))
	}
	emit(t, s.URL, list...)
	c := dialed(t, s.URL, "ann")
	for i := range 130 {
		channel := fmt.Sprintf("c%d", i)
		for c.do("channel.focus", fmt.Sprintf(`"channel_id":%q`, channel)).text("code") == "not_found" {
			c.next() // its delta is coming
		}
		last := c.seen[len(c.seen)-1]
		if want := map[bool]string{true: "ack", false: "error"}[i < 128]; last["type"] != want {
			t.Fatalf("focus %d: %v", i+1, last)
		}
	}
	for i := range 1000 {
		c.send(`{"type":"channel.focus","channel_id":"guess%d"}`, i)
	}
	c.do("channel.blur", `"channel_id":"c0"`)
	if f := c.do("channel.focus", `"channel_id":"c129"`); f["type"] != "ack" {
		t.Errorf("after a blur: %v", f)
	}
}

func TestFrameRate(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 0.001, FramesBurst: 5, PingEvery: time.Hour}}})
	c := dialed(t, s.URL, "ann")
	for range 5 {
		if f := c.do("channel.blur", `"channel_id":"c"`); f["type"] != "ack" {
			t.Fatal(f)
		}
	}
	for range 5 {
		if f := c.do("channel.blur", `"channel_id":"c"`); f.text("code") != "resource_exhausted" {
			t.Fatal(f)
		}
	}
	c.send(`{"type":"sync"}`)
	if code := c.closed(); code != gateway.CloseRate {
		t.Errorf("closed with %d", code)
	}
}

// TestPingFlood: pings count as frames do. The gateway answers them as long as the user's share
// lasts, and then closes the connection.
func TestPingFlood(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 0.001, FramesBurst: 5}}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.URL+"/v1/socket?user_id=ann", nil) //nolint:bodyclose // it ends with the connection
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	var answered atomic.Int32
	var pings sync.WaitGroup
	for range 11 {
		pings.Go(func() {
			if ws.Ping(ctx) == nil {
				answered.Add(1)
			}
		})
	}
	for err == nil {
		_, _, err = ws.Read(ctx)
	}
	pings.Wait()
	if code := websocket.CloseStatus(err); code != gateway.CloseRate || answered.Load() > 5 {
		t.Errorf("%v after %d answers, want code %d after 5 at most", err, answered.Load(), gateway.CloseRate)
	}
}

// TestPongFlood: pongs that answer no ping of the gateway count as frames, too.
func TestPongFlood(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 0.001, FramesBurst: 5}}})
	conn := handshake(t, s)
	if _, err := conn.Write(bytes.Repeat(masked(0x8A, "x"), 11)); err != nil {
		t.Fatal(err)
	}
	if code := closeCode(t, conn); code != gateway.CloseRate {
		t.Errorf("closed with %d, want %d", code, gateway.CloseRate)
	}
}

func TestHandshakeRate(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{HandshakesPerSecond: 0.001, HandshakesBurst: 3}}})
	for range 3 {
		dialed(t, s.URL, "ann")
	}
	if status, _ := refused(t, s.URL+"/v1/socket?user_id=ann", nil); status != http.StatusTooManyRequests {
		t.Errorf("the fourth: %d", status)
	}
}

func TestConnectionsPerUser(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{PerUser: 2, Connections: 3}}})
	dialed(t, s.URL, "ann")
	dialed(t, s.URL, "ann")
	if _, code := refused(t, s.URL+"/v1/socket?user_id=ann", nil); code != gateway.CloseRate {
		t.Errorf("a third of one user: %d", code)
	}
	// A refused connection counts until its close has been answered.
	testkit.Await(t, "bob may connect", func() bool {
		bob, res, err := websocket.Dial(within(t), s.URL+"/v1/socket?user_id=bob", nil) //nolint:bodyclose // Dial sees to it
		if err != nil {
			if res == nil || res.StatusCode != http.StatusServiceUnavailable {
				t.Fatal(err)
			}
			return false
		}
		t.Cleanup(func() { _ = bob.CloseNow() })
		return true
	})
	if status, _ := refused(t, s.URL+"/v1/socket?user_id=cleo", nil); status != http.StatusServiceUnavailable {
		t.Errorf("one more than the gateway takes: %d", status)
	}
}

// Frames of a client cannot write lines of their own, or message text, into the log.
func TestLogInjection(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	emit(t, s.URL, joined("general", "ann", "bob"))
	c := dialed(t, s.URL, "ann")
	c.send(`{"type":"x\nlevel=ERROR msg=forged","id":"y\nlevel=ERROR msg=forged"}`)
	c.until("error", "")
	if status, _ := refused(t, s.URL+"/v1/socket?user_id=a%0Alevel=ERROR%20msg=forged", nil); status != http.StatusBadRequest {
		t.Errorf("an id with a line break: %d", status)
	}
	emit(t, s.URL, strings.Replace(posted("general", "m1", "bob"), "text of m1", "canary-7d1", 1))
	if f := c.until("message.new", "general"); f.text("preview") != "canary-7d1" {
		t.Error(f)
	}
	if l := log.String(); strings.Contains(l, "\nlevel=ERROR msg=forged") || strings.Contains(l, "canary") {
		t.Errorf("the log has what a client or a message says:\n%s", l)
	}
}
