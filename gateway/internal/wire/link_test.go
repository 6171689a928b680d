package wire

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// Frames of every kind of length arrive unchanged and in order; small ones are sent together, and
// no write is larger than a client must take in a second.
func TestFramesLeaveTogether(t *testing.T) {
	var batch []Item
	sizes := []int{0, 1, 125, 126, 65_525, 65_526, 65_527, 65_535, 65_536, 200_000, 3, 40_000, 40_000, 2}
	sizes = append(sizes, slices.Repeat([]int{100}, 100)...)
	for i, n := range sizes {
		batch = append(batch, Item{Frame: frames.Ready(bytes.Repeat([]byte{byte('a' + i%26)}, n))})
	}
	var (
		mu     sync.Mutex
		writes []int
	)
	sent := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := &link{timeout: time.Minute, sent: func(n int) {
			mu.Lock()
			defer mu.Unlock()
			writes = append(writes, n)
		}}
		ws, err := websocket.Accept(&hijack{w, l}, r, nil)
		if err != nil {
			sent <- err
			return
		}
		mu.Lock()
		writes = nil // without the answer to the handshake
		mu.Unlock()
		sent <- l.send(ws, batch)
		_ = ws.Close(websocket.StatusNormalClosure, "")
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, server.URL, nil) //nolint:bodyclose // Dial sees to it
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(1 << 20)
	for i := range batch {
		kind, got, err := ws.Read(ctx)
		if err != nil || kind != websocket.MessageText || !bytes.Equal(got, batch[i].Bytes()) {
			t.Fatalf("frame %d: %d bytes of %d, %v, %v", i, len(got), len(batch[i].Bytes()), kind, err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, n := range writes {
		if n > corkBytes || n == 0 {
			t.Errorf("a write of %d bytes", n)
		}
	}
	if len(writes) > 20 {
		t.Errorf("%d frames left in %d writes", len(sizes), len(writes))
	}
}

// The connection closes by the protocol while frames are gathered. The client gets the reason,
// because the close frame is among them. A peer that reads nothing does not delay the close.
func TestWhatIsGatheredLeavesBeforeTheClose(t *testing.T) {
	here, there := net.Pipe()
	l := &link{Conn: here, timeout: time.Minute, sent: func(int) {}}
	l.cork()
	if _, err := l.Write([]byte("why")); err != nil {
		t.Fatal(err)
	}
	go func() { _ = l.Close() }() // the other end sees the close
	if got, err := io.ReadAll(there); string(got) != "why" || err != nil {
		t.Errorf("it got %q, %v", got, err)
	}

	here, there = net.Pipe()
	defer there.Close()
	l = &link{Conn: here, timeout: time.Hour, sent: func(int) {}}
	stuck := make(chan error)
	go func() { _, err := l.Write([]byte("nobody reads it")); stuck <- err }()
	_ = l.Close() // it must return
	if err := <-stuck; err == nil {
		t.Error("it was written, although nobody reads")
	}
}
