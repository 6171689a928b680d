package gateway_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// refused dials and returns the status with which the handshake was refused, or the code of the
// close.
func refused(t *testing.T, url string, o *websocket.DialOptions) (int, websocket.StatusCode) {
	t.Helper()
	ws, res, err := websocket.Dial(within(t), url, o) //nolint:bodyclose // Dial sees to it
	if err != nil {
		if res == nil {
			t.Fatal(err)
		}
		return res.StatusCode, 0
	}
	defer func() { _ = ws.CloseNow() }()
	for {
		if _, b, err := ws.Read(within(t)); err != nil {
			return 0, websocket.CloseStatus(err)
		} else if strings.Contains(string(b), `"hello"`) {
			t.Fatal("the connection was accepted")
		}
	}
}

// With keys a token identifies the user: in a header, a subprotocol or a first frame, never in the
// URL. The log contains nothing of it.
func TestTokens(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{
		Verifier: authtest.Verifier(t), Gateway: gateway.Config{OwnAccount: func() error { return nil }},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	socket := s.URL + "/v1/socket"
	ann, service := authtest.Token(t, "ann", time.Hour), authtest.Service(t)
	header := func(token string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}
	}
	protocol := func(token string, more ...string) *websocket.DialOptions {
		return &websocket.DialOptions{Subprotocols: append([]string{"tidemark.bearer." + token}, more...)}
	}
	for name, o := range map[string]*websocket.DialOptions{
		"header": header(ann), "subprotocol": protocol(ann), "subprotocol, and one to answer": protocol(ann, "tidemark.v1"),
	} {
		c := dial(t, socket, o)
		if f := c.until("hello", ""); f.text("user_id") != "ann" {
			t.Errorf("%s: %v", name, f)
		}
		c.until("inbox", "")
		if want := (o.Subprotocols != nil); want != (c.ws.Subprotocol() != "") {
			t.Errorf("%s: the subprotocol %q was answered", name, c.ws.Subprotocol())
		}
		_ = c.ws.CloseNow()
	}
	first := dial(t, socket, nil)
	first.send(`{"type":"auth","token":%q}`, ann)
	first.until("inbox", "")
	firstOnBehalf := dial(t, socket+"?user_id=bob", nil)
	firstOnBehalf.send(`{"type":"auth","token":%q}`, service)
	if f := firstOnBehalf.until("hello", ""); f.text("user_id") != "bob" {
		t.Errorf("a service for bob, in a first frame: %v", f)
	}
	other := dial(t, socket+"?user_id=bob", nil)
	other.send(`{"type":"auth","token":%q}`, ann)
	if code := other.closed(); code != gateway.CloseToken || len(other.seen) > 0 {
		t.Errorf("ann for bob, in a first frame: closed with %d after %v", code, other.seen)
	}
	onBehalf := dial(t, socket+"?user_id=bob", header(service))
	if f := onBehalf.until("hello", ""); f.text("user_id") != "bob" {
		t.Errorf("a service for bob: %v", f)
	}

	expired := authtest.Token(t, "ann", -time.Hour)
	for name, c := range map[string]struct {
		url    string
		o      *websocket.DialOptions
		status int
		code   websocket.StatusCode
	}{
		"expired, header":      {socket, header(expired), 401, 0},
		"expired, subprotocol": {socket, protocol(expired), 0, gateway.CloseToken},
		"another user":         {socket + "?user_id=bob", header(ann), 401, 0},
		"in the URL":           {socket + "?access_token=" + ann, nil, 400, 0},
		"none":                 {socket + "?user_id=ann", nil, 0, gateway.CloseToken},
	} {
		if c.code != 0 && c.o == nil {
			ws := dial(t, c.url, nil)
			ws.send(`{"type":"sync"}`)
			if code := ws.closed(); code != c.code {
				t.Errorf("%s: closed with %d", name, code)
			}
			continue
		}
		if status, code := refused(t, c.url, c.o); status != c.status || code != c.code {
			t.Errorf("%s: status %d, code %d; want %d, %d", name, status, code, c.status, c.code)
		}
	}
	for _, token := range []string{ann, service, expired} {
		if strings.Contains(log.String(), token) || strings.Contains(log.String(), strings.Split(token, ".")[2]) {
			t.Error("a token is in the log")
		}
	}
}

// A connection ends when its token does.
func TestATokenThatExpires(t *testing.T) {
	s := start(t, dev.Config{Verifier: authtest.Verifier(t), Gateway: gateway.Config{OwnAccount: func() error { return nil }}})
	// Clocks may differ by 30 s, so this one has two seconds left.
	c := dial(t, s.URL+"/v1/socket", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + authtest.Token(t, "ann", -28*time.Second)}},
	})
	c.until("inbox", "")
	if code := c.closed(); code != gateway.CloseToken {
		t.Errorf("closed with %d", code)
	}
}

func TestOrigins(t *testing.T) {
	origin := func(o string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {o}}}
	}
	s := start(t, dev.Config{Gateway: gateway.Config{Origins: []string{"https://chat.example.com"}}})
	socket := s.URL + "/v1/socket?user_id=ann"
	dial(t, socket, origin("https://chat.example.com")).until("hello", "")
	for _, o := range []string{
		"https://evil.example.com", "http://chat.example.com", "https://chat.example.com:8443", "https://chat.example.com.evil.com",
		"https://CHAT.example.com", "null", s.URL,
	} {
		if status, _ := refused(t, socket, origin(o)); status != http.StatusForbidden {
			t.Errorf("%s: %d", o, status)
		}
	}
	own := start(t, dev.Config{})
	dial(t, own.URL+"/v1/socket?user_id=ann", origin(own.URL)).until("hello", "")
	if status, _ := refused(t, own.URL+"/v1/socket?user_id=ann", origin("http://evil.example.com")); status != http.StatusForbidden {
		t.Errorf("without a list, a foreign page: %d", status)
	}
	// A host name that somebody else points at this machine is both that page's host and the
	// gateway's.
	rebound := origin("http://evil.example.com")
	rebound.Host = "evil.example.com"
	if status, _ := refused(t, own.URL+"/v1/socket?user_id=ann", rebound); status != http.StatusForbidden {
		t.Errorf("a rebound name: %d", status)
	}
}

// TestLoopbackOrigins: a page that is being developed on this machine connects, and another site's
// page does not. The log names that page once.
func TestLoopbackOrigins(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{
		Gateway: gateway.Config{Origins: []string{"http://192.168.1.7:5173"}, LoopbackOrigins: true},
		Logger:  slog.New(slog.NewTextHandler(&log, nil)),
	})
	socket := s.URL + "/v1/socket?user_id=ann"
	origin := func(o string) *websocket.DialOptions {
		return &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {o}}}
	}
	for _, o := range []string{"http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:5173", "http://app.localhost:8000", "http://192.168.1.7:5173", s.URL} {
		dial(t, socket, origin(o)).until("hello", "")
	}
	for _, o := range []string{"http://192.168.1.8:5173", "http://localhost.evil.example", "http://evil.example", "null", "http://127.0.0.1.evil.example:3000"} {
		if status, _ := refused(t, socket, origin(o)); status != http.StatusForbidden {
			t.Errorf("%s: %d", o, status)
		}
	}
	if got := log.String(); strings.Count(got, "origin is not on the list") != 1 || !strings.Contains(got, "http://192.168.1.8:5173") {
		t.Errorf("the log names the first refused origin, once a minute:\n%s", got)
	}
}
