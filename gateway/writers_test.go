package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/testkit"
)

// pair is a connection of g, and its client.
func pair(t *testing.T, g *Gateway) (*conn, *websocket.Conn) {
	t.Helper()
	accepted := make(chan *conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &conn{g: g, link: &link{timeout: time.Minute, sent: func(int) {}}}
		var err error
		if c.ws, err = websocket.Accept(&hijack{w, c.link}, r, nil); err != nil {
			t.Error(err)
		}
		c.ctx, c.cancel = context.WithCancel(context.Background())
		accepted <- c
		<-c.ctx.Done()
		_ = c.ws.CloseNow() // the client may be gone
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

// Clients that take nothing hold up nobody else, however few write at once; when they take again they get all that waited,
// in order, and have turns like everybody.
func TestNobodyWaitsForWhoTakesNothing(t *testing.T) {
	g := &Gateway{cfg: Config{Limits: Limits{QueueBytes: 1 << 30}.withDefaults()}, hub: newHub(), writers: newWriters()}
	g.metrics, g.delivered.g = newMetrics(prometheus.NewRegistry(), g), g
	g.writers.atOnce = 2
	large := bytes.Repeat([]byte("x"), 32<<20) // more than the kernel keeps for a socket
	var (
		stuck   [3]*conn
		silent  [3]*websocket.Conn
		quick   [3]*conn
		reading [3]*websocket.Conn
	)
	for i := range stuck {
		stuck[i], silent[i] = pair(t, g)
		quick[i], reading[i] = pair(t, g)
	}
	for _, c := range stuck {
		c.sendNow(large)
	}
	for n := range 20 {
		for i, c := range quick {
			c.sendNow(fmt.Appendf(nil, "frame %d", n))
			expect(t, reading[i], fmt.Appendf(nil, "frame %d", n))
		}
	}
	for i, c := range stuck {
		c.sendNow([]byte("behind it"))
		expect(t, silent[i], large)
		expect(t, silent[i], []byte("behind it"))
		c.sendNow([]byte("and then"))
		expect(t, silent[i], []byte("and then"))
	}
	testkit.Await(t, "no writer stays", func() bool {
		g.writers.mu.Lock()
		defer g.writers.mu.Unlock()
		return len(g.writers.active) == 0 && len(g.writers.waiting) == 0
	})
}

// However many wait, each has its turn, and no more than a few write at once.
func TestTurns(t *testing.T) {
	g := &Gateway{cfg: Config{Limits: Limits{}.withDefaults()}, hub: newHub(), writers: newWriters()}
	g.metrics, g.delivered.g = newMetrics(prometheus.NewRegistry(), g), g
	ws := g.writers
	ws.atOnce = 0 // nobody writes yet
	const many = 3000
	conns := make([]*conn, many)
	for i := range conns {
		conns[i] = &conn{g: g}
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
			ws.add(conns[0]) // once more, behind all others
		}
	}
	if ws.take(w) != conns[0] || ws.take(w) != nil {
		t.Error("who came once more had no second turn, or somebody a third")
	}
	if len(ws.active) != 0 || len(ws.waiting) != 0 || cap(ws.waiting) > 2*many {
		t.Errorf("%d writers and %d waiting are left, room for %d", len(ws.active), len(ws.waiting), cap(ws.waiting))
	}
}
