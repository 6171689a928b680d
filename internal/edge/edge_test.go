package edge

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.LeakFree(m) }

const patience = 2 * time.Minute

// start serves h behind an edge, and returns its address.
func start(t *testing.T, c Config, secured *tls.Config, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(c, "test", h)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(l, secured); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = s.Close() // cuts off open requests
		serving.Wait()
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr, send string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, send); err != nil {
		t.Fatal(err)
	}
	return c
}

// ends waits until the other side has closed the connection, and reads nothing before.
func ends(t *testing.T, what string, c net.Conn) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	_, err := io.Copy(io.Discard, c)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		t.Errorf("%s: the connection is still there", what)
	}
}

// fill writes requests until the other side has closed the connection.
func fill(t *testing.T, what string, c net.Conn, request string) {
	t.Helper()
	if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := io.WriteString(c, request); err != nil {
			if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
				t.Errorf("%s: the connection is still there", what)
			}
			return
		}
	}
}

// site answers like a node: a page, a long page, refusals that read no body, and a stream.
func site() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 1<<20)) })
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	return mux
}

// A connection ends at whatever point its client stalls: on every path, with HTTP/1.1 and with TLS.
func TestNothingIsHeldForEver(t *testing.T) {
	quick := Config{ReadTimeout: 300 * time.Millisecond, WriteTimeout: 300 * time.Millisecond, HeaderTimeout: 200 * time.Millisecond, IdleTimeout: 300 * time.Millisecond}
	addr := start(t, quick, nil, site())
	const host = " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	var wg sync.WaitGroup
	for what, send := range map[string]string{
		"nothing is sent":                     "",
		"headers that never end":              "GET /healthz" + host + "X: ",
		"a request without its body":          "GET /healthz" + host + "Content-Length: 100\r\n\r\n",
		"a body in chunks that never ends":    "POST /refused" + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"a refused path without its body":     "POST /nowhere" + host + "Content-Length: 100\r\n\r\n",
		"a refused call without its body":     "POST /refused" + host + "Content-Length: 100\r\n\r\n",
		"a refused call with Expect":          "POST /refused" + host + "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n",
		"a refused host without its body":     "POST /refused HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n",
		"an answer, and no second request":    "GET /healthz" + host + "\r\n",
		"HTTP/2 without a request":            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"a refused socket that stays":         "GET /v1/socket" + host + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"half a request after a whole one":    "GET /healthz" + host + "\r\nGET /hea",
		"an answer that is taken by nobody":   strings.Repeat("GET /metrics"+host+"\r\n", 20),
		"a refused call that is asked for on": strings.Repeat("POST /refused"+host+"Content-Length: 0\r\n\r\n", 20),
	} {
		c := dial(t, addr, send)
		wg.Go(func() {
			if what == "an answer that is taken by nobody" { // this test does not read it either
				fill(t, what, c, "GET /metrics"+host+"\r\n")
				return
			}
			ends(t, what, c)
		})
	}
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	defer server.Close()
	secured := start(t, quick, server.TLS, site())
	c := dial(t, secured, "\x16\x03\x01")
	wg.Go(func() { ends(t, "half a TLS handshake", c) })
	wg.Wait()
}

// A stream outlives the deadlines of calls for as long as its client reads, and ends after that.
func TestStreamsLast(t *testing.T) {
	ended := make(chan struct{}, 2)
	stream := Lasting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		_, _ = io.Copy(io.Discard, r.Body)
		big := strings.Repeat("x", 64<<10) + "\n"
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, big); err != nil {
				return
			}
			if http.NewResponseController(w).Flush() != nil {
				return
			}
			time.Sleep(5 * time.Millisecond) // between two lines
		}
	}), 300*time.Millisecond)
	addr := start(t, Config{ReadTimeout: 100 * time.Millisecond, WriteTimeout: 100 * time.Millisecond}, nil, stream)
	for _, body := range []string{"", "request"} {
		c := dial(t, addr, fmt.Sprintf("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 32<<10)
		for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
			if _, err := c.Read(buffer); err != nil {
				t.Fatalf("a stream with a body of %d bytes ended: %v", len(body), err)
			}
		}
		select { // the client reads no more
		case <-ended:
		case <-time.After(patience):
			t.Error("a stream that nobody reads is still there")
		}
	}
	c := dial(t, addr, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nhalf")
	ends(t, "a stream whose request does not arrive", c)
}

// gathered returns the value of a metric.
func gathered(t *testing.T, r *prometheus.Registry, name, reason string) float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if reason == "" || l.GetValue() == reason {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	t.Fatalf("there is no %s %s", name, reason)
	return 0
}
