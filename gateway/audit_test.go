package gateway_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// TestEventsByScopeAreNoted: the audit log has the events that a token of scope publish writes over
// a user's socket, with the caller, the user, the address and the outcome. It does not have the
// events of users with their own tokens.
func TestEventsByScopeAreNoted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(name, io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dev.Config{Verifier: authtest.Verifier(t), Audit: log, Gateway: gateway.Config{OwnAccount: func() error { return nil }, Audit: log}})
	backend := http.Header{"Authorization": {"Bearer " + authtest.Scoped(t, "backend", "service")}}
	socket := s.URL + "/v1/socket?user_id=ann"
	service := dial(t, socket, &websocket.DialOptions{HTTPHeader: backend})
	service.until("inbox", "")
	own := dial(t, socket, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + authtest.Token(t, "ann", time.Hour)}}})
	own.until("inbox", "")

	events := strings.Join([]string{joined("general", "ann", "bob"), posted("general", "m1", "bob"), posted("general", "m2", "bob")}, ",")
	req, err := http.NewRequestWithContext(within(t), http.MethodPost, s.URL+"/tidemark.ingest.v1.IngestService/Publish", strings.NewReader(`{"events":[`+events+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = backend.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	res.Body.Close()
	for _, c := range []*client{service, own} {
		c.until("message.new", "general", id("m2"))
	}
	for _, c := range []*client{own, service} {
		if f := c.do("channel.mute", `"channel_id":"general","muted":true`); f["type"] != "ack" {
			t.Errorf("%v", f)
		}
		if f := c.do("mark_read", `"channel_id":"nobodys","message_id":"m1"`); f.text("code") != "not_found" {
			t.Errorf("%v", f)
		}
		c.do("channel.focus", `"channel_id":"general"`)
		c.do("channel.blur", `"channel_id":"general"`)
	}
	log.Close()

	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got = append(got, strings.Join([]string{string(e.Kind), e.Who, "for " + e.For, e.What, e.From, e.Outcome}, " "))
	}
	slices.Sort(got)
	want := []string{
		"publish backend for  /tidemark.ingest.v1.IngestService/Publish 127.0.0.1 ok",
		"publish backend for ann /v1/socket 127.0.0.1 not_found",
		"publish backend for ann /v1/socket 127.0.0.1 ok",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
