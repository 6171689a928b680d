package edge

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// answered reports whether a request on a connection is answered.
func answered(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		return false
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }() // it was read
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

// The number of connections is bounded. A connection with an open request is never closed; the one
// that has been idle longest makes room. Closed connections no longer count.
func TestConnectionsAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	blocked, let := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/", site())
	mux.HandleFunc("/held", func(http.ResponseWriter, *http.Request) {
		blocked <- struct{}{}
		<-let
	})
	addr := start(t, Config{MaxConnections: 3, Registerer: registry}, nil, mux)
	defer close(let)

	first, second := dial(t, addr, ""), dial(t, addr, "")
	for _, c := range []net.Conn{first, second} {
		if !answered(t, c) {
			t.Fatal("two of three connections are not answered")
		}
		time.Sleep(200 * time.Millisecond) // the server marks the connection idle after its answer
	}
	busy := dial(t, addr, "GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	<-blocked
	if open := gathered(t, registry, "tidemark_http_connections", ""); open != 3 {
		t.Errorf("%v connections are open, want 3", open)
	}
	third := dial(t, addr, "")
	if !answered(t, third) {
		t.Error("a new connection does not take the place of an idle one")
	}
	ends(t, "the one that was idle for longest", first)
	if !answered(t, second) {
		t.Error("one that was idle for less had to go")
	}
	_ = busy
	for _, c := range []net.Conn{second, third} { // now all are busy
		if _, err := io.WriteString(c, "GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-blocked
	}
	ends(t, "one more than may be", dial(t, addr, ""))
	if n := gathered(t, registry, "tidemark_http_refused_total", "connections"); n != 1 {
		t.Errorf("%v refused connections are counted, want 1", n)
	}
	if n := gathered(t, registry, "tidemark_http_connections_evicted_total", ""); n != 1 {
		t.Errorf("%v connections that made room are counted, want 1", n)
	}
	for range 3 {
		let <- struct{}{}
	}
	for _, c := range []net.Conn{second, third, busy} {
		c.Close()
	}
	for end := time.Now().Add(patience); gathered(t, registry, "tidemark_http_connections", "") != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("connections that were closed count on")
		}
	}
}

func TestConnectionsLeaveDescriptors(t *testing.T) {
	for _, c := range []struct {
		sockets int
		limit   uint64
		want    int
	}{
		{0, 220, 110},
		{0, 1024, 768},
		{20_000, 1024, 768},
		{20_000, 65_536, 57_344},
		{20_000, 1 << 20, 65_536},
		{200_000, 1 << 20, 250_000},
		{0, 0, 65_536},
		{0, 1<<64 - 1, 65_536},
		{0, 1, 1},
	} {
		if got := connections(c.sockets, c.limit); got != c.want {
			t.Errorf("with %d descriptors and %d sockets: %d connections, want %d", c.limit, c.sockets, got, c.want)
		}
	}
	if n := Connections(0); n < 1 {
		t.Errorf("%d connections by the limit of this process", n)
	}
}
