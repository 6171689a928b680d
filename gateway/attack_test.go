package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/auth/authtest"
	"github.com/tidemark/tidemark/internal/dev"
	"github.com/tidemark/tidemark/internal/testkit"
)

// refused dials and returns the status that the handshake was refused with, or the code of the close.
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

// With keys a token says who connects: in a header, a subprotocol or a first frame, never in the URL; and nothing of it
// gets into the log.
func TestTokens(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{
		Verifier: authtest.Verifier(t), Gateway: gateway.Config{ServiceToken: authtest.Service(t)},
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
	first.say(`{"type":"auth","token":%q}`, ann)
	first.until("inbox", "")
	firstOnBehalf := dial(t, socket+"?user_id=bob", nil)
	firstOnBehalf.say(`{"type":"auth","token":%q}`, service)
	if f := firstOnBehalf.until("hello", ""); f.text("user_id") != "bob" {
		t.Errorf("a service for bob, in a first frame: %v", f)
	}
	other := dial(t, socket+"?user_id=bob", nil)
	other.say(`{"type":"auth","token":%q}`, ann)
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
			ws.say(`{"type":"sync"}`)
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
	s := start(t, dev.Config{Verifier: authtest.Verifier(t), Gateway: gateway.Config{ServiceToken: authtest.Service(t)}})
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
	// A name that somebody else points here is that page's host and our own as well.
	rebound := origin("http://evil.example.com")
	rebound.Host = "evil.example.com"
	if status, _ := refused(t, own.URL+"/v1/socket?user_id=ann", rebound); status != http.StatusForbidden {
		t.Errorf("a rebound name: %d", status)
	}
}

// Whatever a client sends that is wrong is answered in words, and the connection goes on.
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
		c.say("%s", sent)
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
	c.say("%s", frame(65_536))
	if f := c.until("ack", ""); f["id"] != "big" {
		t.Errorf("64 KiB: %v", f)
	}
	c.say("%s", frame(65_537))
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
			c.next() // its delta is on the way
		}
		last := c.seen[len(c.seen)-1]
		if want := map[bool]string{true: "ack", false: "error"}[i < 128]; last["type"] != want {
			t.Fatalf("focus %d: %v", i+1, last)
		}
	}
	for i := range 1000 {
		c.say(`{"type":"channel.focus","channel_id":"guess%d"}`, i)
	}
	c.do("channel.blur", `"channel_id":"c0"`)
	if f := c.do("channel.focus", `"channel_id":"c129"`); f["type"] != "ack" {
		t.Errorf("after a blur: %v", f)
	}
}

func TestFrameRate(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 0.001, FramesBurst: 5}}})
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
	c.say(`{"type":"sync"}`)
	if code := c.closed(); code != gateway.CloseRate {
		t.Errorf("closed with %d", code)
	}
}

// TestPingFlood: pings count as frames do. They are answered as long as there is a share, then the connection is closed.
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

// TestPongFlood: so do pongs that answer no ping of the gateway's.
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
	// Who was refused counts until his close has been answered.
	for until := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		bob, res, err := websocket.Dial(within(t), s.URL+"/v1/socket?user_id=bob", nil) //nolint:bodyclose // Dial sees to it
		if err == nil {
			defer func() { _ = bob.CloseNow() }()
			break
		}
		if res == nil || res.StatusCode != http.StatusServiceUnavailable || time.Now().After(until) {
			t.Fatal(err)
		}
	}
	if status, _ := refused(t, s.URL+"/v1/socket?user_id=cleo", nil); status != http.StatusServiceUnavailable {
		t.Errorf("one more than the gateway takes: %d", status)
	}
}

// handshake upgrades a bare connection.
func handshake(t *testing.T, s *dev.Stack) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /v1/socket?user_id=ann HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<16), nil) //nolint:bodyclose // it ends with the connection
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	return conn
}

// endsItself waits until the other side has closed.
func endsItself(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		t.Error("the connection is still there")
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// A client that drips a frame, or fragments of one, for ever is cut off; so is one that answers no ping.
func TestSlowloris(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{
		FrameTimeout: 200 * time.Millisecond, PingEvery: 50 * time.Millisecond, PongTimeout: 300 * time.Millisecond,
	}}})
	mask := []byte{0, 0, 0, 0}
	t.Run("begun and never ended", func(t *testing.T) {
		conn := handshake(t, s)
		if _, err := conn.Write(append(append([]byte{0x81, 0x80 | 100}, mask...), `{"type"`...)); err != nil {
			t.Error(err)
		}
		endsItself(t, conn)
	})
	t.Run("8 EiB announced", func(t *testing.T) {
		conn := handshake(t, s)
		if _, err := conn.Write(append([]byte{0x81, 0x80 | 127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, append(mask, 'x')...)); err != nil {
			t.Error(err)
		}
		endsItself(t, conn)
	})
	t.Run("fragments", func(t *testing.T) {
		conn := handshake(t, s)
		go func() {
			kind := byte(0x01)
			for {
				if _, err := conn.Write(append([]byte{kind, 0x81}, append(mask, ' ')...)); err != nil {
					return
				}
				kind = 0
				time.Sleep(5 * time.Millisecond)
			}
		}()
		endsItself(t, conn)
	})
	t.Run("no pong", func(t *testing.T) { endsItself(t, handshake(t, s)) })
	t.Run("headers that never end", func(t *testing.T) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /v1/socket?user_id=ann HTTP/1.1\r\nHost: x\r\nX-Drip: ")
		endsItself(t, conn)
	})
}

// What a client sends cannot write lines of its own into the log, nor message text.
func TestLogInjection(t *testing.T) {
	var log testkit.Output
	s := start(t, dev.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	emit(t, s.URL, joined("general", "ann", "bob"))
	c := dialed(t, s.URL, "ann")
	c.say(`{"type":"x\nlevel=ERROR msg=forged","id":"y\nlevel=ERROR msg=forged"}`)
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
