package gateway

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// Frames of every kind of length arrive as they were, in order; small ones leave together, and no write is larger than
// what one may take a second.
func TestFramesLeaveTogether(t *testing.T) {
	var batch []item
	sizes := []int{0, 1, 125, 126, 65_525, 65_526, 65_527, 65_535, 65_536, 200_000, 3, 40_000, 40_000, 2}
	sizes = append(sizes, slices.Repeat([]int{100}, 100)...)
	for i, n := range sizes {
		batch = append(batch, item{body: bytes.Repeat([]byte{byte('a' + i%26)}, n)})
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
		sent <- l.send(r.Context(), ws, batch)
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
		if err != nil || kind != websocket.MessageText || !bytes.Equal(got, batch[i].body) {
			t.Fatalf("frame %d: %d bytes of %d, %v, %v", i, len(got), len(batch[i].body), kind, err)
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
