package gateway_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// The log and the audit log have, for a connection, the id of its first request, even long after
// the handshake was answered. The client gets the id in its hello.
func TestConnectionsHaveTheIDOfTheirRequest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	noted, err := audit.Open(name, io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var out testkit.Output
	log, err := obs.NewLogger(&out, obs.FormatText, "debug")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dev.Config{Verifier: authtest.Verifier(t), Audit: noted, Logger: log,
		Gateway: gateway.Config{OwnAccount: func() error { return nil }, Audit: noted}})
	as := func(id, token string) *websocket.DialOptions {
		h := http.Header{obs.RequestIDHeader: {id}}
		if token != "" {
			h.Set("Authorization", "Bearer "+token)
		}
		return &websocket.DialOptions{HTTPHeader: h}
	}
	// A handshake that is answered with a status has the id in the answer as well.
	_, res, err := websocket.Dial(within(t), s.URL+"/v1/socket", as("r-none", "nonsense")) //nolint:bodyclose // Dial sees to it
	if err == nil || res.Header.Get(obs.RequestIDHeader) != "r-none" {
		t.Fatal("a token that is none:", res, err)
	}
	// This tests a token in a first frame.
	first := dial(t, s.URL+"/v1/socket", as("r-first", ""))
	first.send(`{"type":"auth","token":"nonsense"}`)
	if code := first.closed(); code != gateway.CloseToken {
		t.Errorf("closed with %d", code)
	}
	// This tests a frame.
	service := dial(t, s.URL+"/v1/socket?user_id=ann", as("r-frame", authtest.Scoped(t, "backend", "service")))
	if f := service.until("hello", ""); f.text("request_id") != "r-frame" {
		t.Errorf("%v", f)
	}
	service.until("inbox", "")
	if f := service.do("mark_read", `"channel_id":"nobodys","message_id":"m1"`); f.text("code") != "not_found" {
		t.Errorf("%v", f)
	}
	// A request without an id gets one.
	own := dial(t, s.URL+"/v1/socket", as("", authtest.Token(t, "ann", time.Hour)))
	if f := own.until("hello", ""); len(f.text("request_id")) < 20 {
		t.Errorf("%v", f)
	}
	noted.Close()

	for _, id := range []string{"r-none", "r-first"} {
		if !lineWith(out.String(), "a token was refused", "request_id="+id) {
			t.Errorf("the log has no refused token of %s:\n%s", id, &out)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	byRequest := map[string]string{}
	for line := range strings.Lines(string(b)) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		byRequest[e.Request] += e.Outcome
	}
	for id, want := range map[string]string{"r-none": "unauthenticated", "r-first": "unauthenticated", "r-frame": "not_found"} {
		if byRequest[id] != want {
			t.Errorf("the audit log has %q of %s, want %s:\n%s", byRequest[id], id, want, b)
		}
	}
}

// lineWith reports whether one line contains all parts.
func lineWith(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}
