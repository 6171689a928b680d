//go:build unix

package wire

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/internal/edge"
)

// The kernel buffers a limited number of bytes for a client that does not read, with TLS as
// without.
func TestKernelsBufferIsBoundedByTLSToo(t *testing.T) {
	seen := make(chan int, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l := &link{timeout: time.Minute, sent: func(int) {}}
		ws, err := websocket.Accept(&hijack{w, l}, r, nil)
		if err != nil {
			seen <- 0
			return
		}
		seen <- sendBuffer(l.Conn)
		_ = ws.CloseNow()
	})
	sizeAt := func(server *httptest.Server) int {
		defer server.Close()
		ws, _, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPClient: server.Client()}) //nolint:bodyclose // Dial sees to it
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ws.CloseNow() }()
		return <-seen
	}
	// served runs a node's own listener.
	served := func(c *tls.Config) *httptest.Server {
		s := edge.New(edge.Config{}, "test", nil)
		server := httptest.NewUnstartedServer(h)
		server.Listener = s.Listener(server.Listener)
		server.TLS = c
		return server
	}
	plain, secured := sizeAt(httptest.NewServer(h)), sizeAt(httptest.NewTLSServer(h))
	if plain == 0 || secured != plain {
		t.Errorf("%d bytes by TLS, %d without", secured, plain)
	}
	edged, both := served(nil), served(&tls.Config{})
	edged.Start()
	both.StartTLS()
	if one, other := sizeAt(edged), sizeAt(both); one != plain || other != plain {
		t.Errorf("%d bytes at a node, by TLS %d, want %d", one, other, plain)
	}
}

// sendBuffer returns the size of a connection's buffer in the kernel; 0: unknown.
func sendBuffer(c net.Conn) (size int) {
	for above, ok := c.(interface{ NetConn() net.Conn }); ok; above, ok = c.(interface{ NetConn() net.Conn }) {
		c = above.NetConn()
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF) })
	return size
}
