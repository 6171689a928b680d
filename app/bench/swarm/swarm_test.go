package swarm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// gate is a gateway that refuses the first connection of each user, and sends an inbox, a ping and
// n messages on the second.
type gate struct {
	refused  map[string]bool
	messages int
	pongs    atomic.Int64
	l        net.Listener
}

func startGate(t *testing.T, messages int) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	g := &gate{refused: map[string]bool{}, messages: messages, l: l}
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.serve(c)
		}
	}()
	return g
}

// serve answers a handshake and leaves the connection to a goroutine, so refused needs no lock.
func (g *gate) serve(c net.Conn) {
	r := bufio.NewReader(c)
	req, err := http.ReadRequest(r)
	if err != nil {
		c.Close()
		return
	}
	user := req.URL.Query().Get("user_id")
	if user == "banned" {
		fmt.Fprint(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
		c.Close()
		return
	}
	if !g.refused[user] {
		g.refused[user] = true
		fmt.Fprint(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
		c.Close()
		return
	}
	fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	fmt.Fprintf(c, "%s", frame(1, `{"type":"inbox","channels":"`+strings.Repeat("x", 70_000)+`"}`))
	fmt.Fprintf(c, "%s", frame(9, "hi"))
	for i := range g.messages {
		fmt.Fprintf(c, "%s", frame(1, fmt.Sprintf(`{"type":"message.new","message_id":%q}`, MessageID(time.Now().Add(-time.Second), i))))
		fmt.Fprintf(c, "%s", frame(1, `{"type":"unread"}`))
	}
	go func() {
		pong := make([]byte, 8)
		if _, err := io.ReadFull(r, pong); err == nil && string(pong) == "\x8a\x82\x00\x00\x00\x00hi" {
			g.pongs.Add(1)
		}
		_, _ = io.Copy(io.Discard, r)
		c.Close()
	}()
}

// frame is one unmasked frame.
func frame(opcode byte, payload string) []byte {
	n := len(payload)
	switch {
	case n < 126:
		return append([]byte{0x80 | opcode, byte(n)}, payload...)
	case n < 1<<16:
		return append([]byte{0x80 | opcode, 126, byte(n >> 8), byte(n)}, payload...)
	}
	return append([]byte{0x80 | opcode, 127, 0, 0, 0, 0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, payload...)
}

// runSwarm runs a swarm in this process and returns a function that gives it an order.
func runSwarm(t *testing.T) (do func(Order) Answer) {
	t.Helper()
	in, orders := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Run(context.Background(), in, out) }()
	t.Cleanup(func() {
		_ = orders.Close() // a pipe cannot fail to close
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := json.NewDecoder(answers)
	return func(o Order) (a Answer) {
		t.Helper()
		if err := json.NewEncoder(orders).Encode(o); err != nil {
			t.Fatal(err)
		}
		if err := lines.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// Users who are refused come back, get their inbox and stay; frames are counted, pings answered; a
// reset forgets the counts, and a drop is not a broken connection.
func TestSwarm(t *testing.T) {
	const users, messages = 3, 5
	g, do := startGate(t, messages), runSwarm(t)
	a := do(Order{Connect: []string{"a", "b", "c"}, Addr: g.l.Addr().String(), AtOnce: 2})
	if a.Connected != users || a.Later != users || a.Failed != 0 || a.Open != users || a.Inbox.P50 < 500 {
		t.Fatalf("%+v", a)
	}
	for until := time.Now().Add(2 * time.Minute); a.Messages < users*messages || g.pongs.Load() < users; a = do(Order{}) {
		if time.Now().After(until) {
			t.Fatalf("after two minutes %+v and %d pongs", a, g.pongs.Load())
		}
		time.Sleep(time.Millisecond)
	}
	if a.Messages != users*messages || a.Latency.N != a.Messages || a.Latency.P50 < 1000 || a.Bytes < users*70_000 || a.Broken != 0 {
		t.Errorf("%+v", a)
	}
	if a = do(Order{Drop: true, Reset: true}); a.Open != 0 {
		t.Errorf("after a drop %+v", a)
	}
	time.Sleep(20 * time.Millisecond)
	if a = do(Order{}); a.Messages != 0 || a.Frames != 0 || a.Broken != 0 || a.Latency.N != 0 {
		t.Errorf("after a reset %+v", a)
	}
}

// Users whose order says Leave do not stay. A user who is refused for good fails with the reason.
func TestSwarmLeaves(t *testing.T) {
	g, do := startGate(t, 0), runSwarm(t)
	a := do(Order{Connect: []string{"a", "banned"}, Addr: g.l.Addr().String(), AtOnce: 1, Leave: true})
	if a.Connected != 1 || a.Failed != 1 || a.Open != 0 || !strings.Contains(a.Why, "403") {
		t.Errorf("%+v", a)
	}
}

// A connection that the gateway ends counts as broken.
func TestSwarmBroken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			fmt.Fprintf(c, "%s", frame(1, `{"type":"inbox"}`))
			fmt.Fprintf(c, "%s", frame(8, "\x03\xe8bye"))
		}
		c.Close()
	}()
	do := runSwarm(t)
	a := do(Order{Connect: []string{"a"}, Addr: l.Addr().String()})
	if a.Connected != 1 {
		t.Fatalf("%+v", a)
	}
	for until := time.Now().Add(2 * time.Minute); a.Broken == 0 && time.Now().Before(until); a = do(Order{}) {
		time.Sleep(time.Millisecond)
	}
	if a.Broken != 1 || a.Open != 0 {
		t.Errorf("%+v", a)
	}
}
