//go:build unix

package gateway

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// What the kernel takes for a client that does not read is bounded, by TLS as without.
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
	plain, secured := sizeAt(httptest.NewServer(h)), sizeAt(httptest.NewTLSServer(h))
	if plain == 0 || secured != plain {
		t.Errorf("%d bytes by TLS, %d without", secured, plain)
	}
}

// sendBuffer is the size of a connection's buffer in the kernel; 0: it does not say.
func sendBuffer(c net.Conn) (size int) {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { size, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF) })
	return size
}
