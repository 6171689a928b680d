package wire

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// settings returns settings under which no connection is closed for being slow.
func settings() *Settings {
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{}) }
	return &Settings{
		Writers: NewWriters(), QueueBytes: 1 << 30, FrameBytes: 64 << 10, WriteTimeout: time.Minute, FrameTimeout: time.Minute,
		PongTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler), Bytes: counter(), Frames: counter(), Slow: counter(),
		Closed: func(websocket.StatusCode) {}, Taken: func(string, []Item) {},
	}
}

// pair returns a connection with these settings, and its client.
func pair(t *testing.T, s *Settings) (*Conn, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := Accept(w, r, s, Handshake{MayPing: func() bool { return true }})
		if err != nil {
			t.Error(err)
			return
		}
		accepted <- c
		<-c.ctx.Done()
		c.End()
	}))
	client, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // Dial sees to it
	if err != nil {
		t.Fatal(err)
	}
	client.SetReadLimit(-1)
	c := <-accepted
	t.Cleanup(func() {
		c.cancel()
		_ = client.CloseNow() // it may have ended
		server.Close()
	})
	return c, client
}

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func expect(t *testing.T, client *websocket.Conn, want []byte) {
	t.Helper()
	if _, got, err := client.Read(soon(t)); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes came, want %d: %v", len(got), len(want), err)
	}
}

// Slow clients delay no others, however few may write at once. When they continue they get all
// waiting frames, in order, and have turns like the others.
func TestNobodyWaitsForWhoTakesNothing(t *testing.T) {
	s := settings()
	s.Writers.atOnce = 2
	large := bytes.Repeat([]byte("x"), 32<<20) // more than the kernel buffers for a socket
	var (
		stuck   [3]*Conn
		silent  [3]*websocket.Conn
		quick   [3]*Conn
		reading [3]*websocket.Conn
	)
	for i := range stuck {
		stuck[i], silent[i] = pair(t, s)
		quick[i], reading[i] = pair(t, s)
	}
	for _, c := range stuck {
		c.SendNow(large)
	}
	for n := range 20 {
		for i, c := range quick {
			c.SendNow(fmt.Appendf(nil, "frame %d", n))
			expect(t, reading[i], fmt.Appendf(nil, "frame %d", n))
		}
	}
	for i, c := range stuck {
		c.SendNow([]byte("behind it"))
		expect(t, silent[i], large)
		expect(t, silent[i], []byte("behind it"))
		c.SendNow([]byte("and then"))
		expect(t, silent[i], []byte("and then"))
	}
	testkit.Await(t, "no writer stays", s.Writers.Idle)
}

// However many connections wait, each has its turn, and only a few write at once.
func TestTurns(t *testing.T) {
	s := settings()
	ws := s.Writers
	ws.atOnce = 0 // no connection may write yet
	const many = 3000
	conns := make([]*Conn, many)
	for i := range conns {
		conns[i] = &Conn{s: s}
		ws.add(conns[i])
	}
	ws.mu.Lock()
	w := &writer{seen: -1}
	ws.active[w] = struct{}{}
	ws.mu.Unlock()
	for i := range conns {
		if got := ws.take(w); got != conns[i] {
			t.Fatalf("turn %d is that of another", i)
		}
		if i == many/2 {
			ws.add(conns[0]) // again, after all others
		}
	}
	if ws.take(w) != conns[0] || ws.take(w) != nil {
		t.Error("who came once more had no second turn, or somebody a third")
	}
	if len(ws.active) != 0 || len(ws.waiting) != 0 || cap(ws.waiting) > 2*many {
		t.Errorf("%d writers and %d waiting are left, room for %d", len(ws.active), len(ws.waiting), cap(ws.waiting))
	}
}
