package gateway_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/test/authtest"
)

// No forged token connects, wherever the request has it.
func TestForgedTokens(t *testing.T) {
	s := start(t, dev.Config{
		Verifier: authtest.VerifierOfTwo(t), Gateway: gateway.Config{OwnAccount: func() error { return nil }, Limits: gateway.Limits{HandshakesBurst: 1000}},
	})
	socket := s.URL + "/v1/socket"
	for name, token := range authtest.Forged(t) {
		if status, _ := refused(t, socket, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}); status != http.StatusUnauthorized {
			t.Errorf("%s, in a header: %d", name, status)
		}
		if _, code := refused(t, socket, &websocket.DialOptions{Subprotocols: []string{"tidemark.v1", "tidemark.bearer." + token}}); code != gateway.CloseToken {
			t.Errorf("%s, in a subprotocol: closed with %d", name, code)
		}
		c := dial(t, socket, nil)
		c.send(`{"type":"auth","token":%q}`, token)
		if code := c.closed(); code != gateway.CloseToken || len(c.seen) > 0 {
			t.Errorf("%s, in a first frame: closed with %d after %v", name, code, c.seen)
		}
	}
	dial(t, socket, &websocket.DialOptions{Subprotocols: []string{"tidemark.bearer." + authtest.Token(t, "ann", time.Hour)}}).until("inbox", "")
}

// A user who guesses the name of a channel cannot distinguish others' channels from ones that do
// not exist, whatever they send.
func TestGuessingChannels(t *testing.T) {
	s := start(t, dev.Config{})
	folded(t, s.URL, "bob", "theirs", joined("theirs", "bob", "cleo"), posted("theirs", "m1", "bob"), joined("hers", "ann"))
	c := dialed(t, s.URL, "ann")
	for kind, fields := range map[string]string{
		"channel.focus": "", "mark_read": `,"message_id":"m1"`, "mark_unread": `,"message_id":"m1"`, "messages_read": `,"message_ids":["m1"]`,
		"thread.follow": `,"thread_id":"m1"`, "thread.unfollow": `,"thread_id":"m1"`, "channel.mute": `,"muted":true`, "read_state": "",
	} {
		there, missing := c.do(kind, `"channel_id":"theirs"`+fields), c.do(kind, `"channel_id":"nobodys"`+fields)
		if there.text("code") != "not_found" || missing.text("code") != "not_found" ||
			strings.ReplaceAll(there.text("message"), "theirs", "X") != strings.ReplaceAll(missing.text("message"), "nobodys", "X") {
			t.Errorf("%s tells one from the other: %v, %v", kind, there, missing)
		}
	}
	// No event was written: bob and cleo get no new member, and ann gets nothing at all.
	bob := dialed(t, s.URL, "bob")
	if f := bob.do("read_state", `"channel_id":"theirs"`); len(f.list("readers")) != 2 {
		t.Errorf("readers of the channel: %v", f)
	}
	emit(t, s.URL, posted("theirs", "m2", "bob"), posted("hers", "mine", "bob"))
	c.until("message.new", "hers")
	for _, f := range c.seen {
		if f["channel_id"] == "theirs" {
			t.Errorf("she heard: %v", f)
		}
	}
}

// masked returns a frame of a client: first byte (FIN, reserved bits, opcode), and a payload that
// is masked with zeros.
func masked(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	default:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// closeCode reads up to the frame that closes, and returns its code; 0 if the connection ends
// without one.
func closeCode(t *testing.T, conn net.Conn) websocket.StatusCode {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for {
		var head [2]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			if isTimeout(err) {
				t.Error("the connection is still there")
			}
			return 0
		}
		size := int64(head[1])
		if size == 126 {
			var n [2]byte
			_, _ = io.ReadFull(r, n[:]) // a missing byte shows at the next frame
			size = int64(binary.BigEndian.Uint16(n[:]))
		}
		if head[0]&0x0F != 8 {
			_, _ = io.CopyN(io.Discard, r, size)
			continue
		}
		var code [2]byte
		_, _ = io.ReadFull(r, code[:])
		return websocket.StatusCode(binary.BigEndian.Uint16(code[:]))
	}
}

// Bytes that the protocol forbids end the connection, and cost no memory. The close code has the
// reason if there is one.
func TestFramesThatBreakTheProtocol(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{HandshakesBurst: 1000}}})
	var fragments []byte // each is small; together they exceed the limit by a byte
	for i, piece := 0, strings.Repeat(" ", 4096); i < 16; i++ {
		fragments = append(fragments, masked(map[bool]byte{true: 0x01}[i == 0], piece)...)
	}
	fragments = append(fragments, masked(0x80, " ")...)
	for name, c := range map[string]struct {
		sent []byte
		code websocket.StatusCode
	}{
		"fragments that grow beyond the limit": {fragments, websocket.StatusMessageTooBig},
		"compressed, which was not agreed":     {masked(0xC1, `{"type":"sync"}`), websocket.StatusProtocolError},
		"not masked":                           {append([]byte{0x81, 15}, `{"type":"sync"}`...), 0},
		"a continuation of nothing":            {masked(0x80, "x"), websocket.StatusProtocolError},
		"an opcode that there is not":          {masked(0x83, "x"), websocket.StatusProtocolError},
		"a ping that is no control frame":      {masked(0x89, strings.Repeat("x", 126)), websocket.StatusProtocolError},
		"a ping in two pieces":                 {masked(0x09, "x"), websocket.StatusProtocolError},
	} {
		conn := handshake(t, s)
		if _, err := conn.Write(c.sent); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if code := closeCode(t, conn); code != c.code {
			t.Errorf("%s: closed with %d, want %d", name, code, c.code)
		}
		conn.Close()
	}
	dialed(t, s.URL, "ann") // all others continue
}

// The gateway never agrees on compression: a small compressed frame could decompress to a huge one.
func TestNoCompression(t *testing.T) {
	s := start(t, dev.Config{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /v1/socket?user_id=ann HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x-webkit-deflate-frame\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // it ends with the connection
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", res, err)
	}
	if agreed := res.Header.Get("Sec-WebSocket-Extensions"); agreed != "" {
		t.Errorf("agreed on %q", agreed)
	}
}

// from dials from another address of this machine.
func from(ip string) *websocket.DialOptions {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	return &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}}
}

// The rate of handshakes applies to the user as well: more addresses do not allow them more.
func TestHandshakeRateOfAUser(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{HandshakesPerSecond: 0.001, HandshakesBurst: 3}}})
	url := s.URL + "/v1/socket?user_id="
	for i := range 3 {
		dial(t, url+"ann", from(fmt.Sprintf("127.0.0.%d", i+2))).until("hello", "")
	}
	if _, code := refused(t, url+"ann", from("127.0.0.5")); code != gateway.CloseRate {
		t.Errorf("a fourth connection of one user: closed with %d", code)
	}
	dial(t, url+"bob", from("127.0.0.6")).until("hello", "")
}

// The rate of frames applies to the user, over all their connections, and to the address, over all
// its users.
func TestFrameRates(t *testing.T) {
	beyond := func(c *client) bool {
		return c.do("channel.blur", `"channel_id":"c"`).text("code") == "resource_exhausted"
	}
	t.Run("of a user", func(t *testing.T) {
		s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{FramesPerSecond: 0.001, FramesBurst: 4, PingEvery: time.Hour}}})
		phone, laptop, other := dialed(t, s.URL, "ann"), dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob")
		for i := range 2 {
			if beyond(phone) || beyond(laptop) {
				t.Fatalf("frames %d and %d are refused", 2*i+1, 2*i+2)
			}
		}
		if !beyond(phone) || !beyond(laptop) {
			t.Error("two connections have twice the frames")
		}
		if beyond(other) {
			t.Error("another user is held back")
		}
	})
	t.Run("of an address", func(t *testing.T) {
		s := start(t, dev.Config{Gateway: gateway.Config{Limits: gateway.Limits{AddressFramesPerSecond: 0.001, AddressFramesBurst: 2, PingEvery: time.Hour}}})
		ann, bob := dialed(t, s.URL, "ann"), dialed(t, s.URL, "bob")
		if beyond(ann) || beyond(bob) {
			t.Fatal("the first frames are refused")
		}
		if !beyond(ann) || !beyond(bob) {
			t.Error("two users of an address have twice the frames")
		}
		c := dial(t, s.URL+"/v1/socket?user_id=cleo", from("127.0.0.2"))
		if beyond(c) {
			t.Error("another address is held back")
		}
	})
}

// With previews off no frame has message text.
func TestPreviewsOff(t *testing.T) {
	s := start(t, dev.Config{Gateway: gateway.Config{PreviewsOff: true}})
	emit(t, s.URL, joined("general", "ann", "bob"), posted("general", "m1", "bob"))
	c := dialed(t, s.URL, "ann")
	emit(t, s.URL, posted("general", "m2", "bob"),
		`{"message":{"channel_id":"general","message_posted":{"message_id":"r1","sender_id":"bob","thread_id":"m1","preview":"text of r1"}}}`,
		`{"read":{"channel_id":"general","user_id":"ann","thread_followed":{"thread_id":"m1"}}}`)
	c.until("message.new", "general", id("r1"))
	c.do("mark_read", `"channel_id":"general","message_id":"m2"`)
	c.until("unread.updated", "general", unreadIs(0), func(f frame) bool { return f["member"] == true })
	c.do("sync", "")
	c.until("inbox", "")
	for _, f := range c.seen {
		if strings.Contains(fmt.Sprint(f), "text of") {
			t.Errorf("it has text: %v", f)
		}
	}
}
