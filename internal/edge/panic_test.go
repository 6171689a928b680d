package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// planted is a listener whose connections panic where net/http and the edge ask them something.
type planted struct {
	net.Listener
	below, address, closing atomic.Bool // which of them panic
}

func (p *planted) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return plantedConn{c, p}, nil
}

type plantedConn struct {
	net.Conn
	p *planted
}

func (c plantedConn) NetConn() net.Conn {
	if c.p.below.Load() {
		panic("planted")
	}
	return c.Conn
}

func (c plantedConn) RemoteAddr() net.Addr {
	if c.p.address.Load() {
		panic("planted")
	}
	return c.Conn.RemoteAddr()
}

func (c plantedConn) Close() error {
	if c.p.closing.Swap(false) {
		_ = c.Conn.Close() // as a connection would that fails after it
		panic("planted")
	}
	return c.Conn.Close()
}

// serving starts a server whose hooks of net/http see connections that panic in the way of the
// planted listener: outside of the edge's own if outside, else below it.
func serving(t *testing.T, h http.Handler, c Config, outside bool) (p *planted, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = &planted{Listener: l}
	s := New(c, "test", h)
	serve := func() error { return s.Serve(p, nil) }
	if outside {
		p.Listener = s.Listener(l)
		serve = func() error { return s.http.Serve(p) }
	}
	var running sync.WaitGroup
	running.Go(func() { _ = serve() }) // ends with Close
	t.Cleanup(func() {
		_ = s.Close() // cuts off open requests
		running.Wait()
	})
	return p, l.Addr().String()
}

// TestPanicInConnState: net/http calls ConnState in goroutines of its own. A panic there is logged,
// and leaves the connection and all others as they were.
func TestPanicInConnState(t *testing.T) {
	var log testkit.Output
	p, addr := serving(t, site(), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, true)
	before := dial(t, addr, "")
	if !answered(t, before) {
		t.Fatal("a connection is not answered")
	}
	p.below.Store(true)
	during := dial(t, addr, "")
	if !answered(t, during) || !answered(t, before) {
		t.Error("connections are not answered while the hook panics")
	}
	p.below.Store(false)
	for _, c := range []net.Conn{before, during, dial(t, addr, "")} {
		if !answered(t, c) {
			t.Error("a connection is not answered after the hook panicked")
		}
	}
	logs(t, &log, "counting idle connections panicked: planted")
}

// TestPanicInAccept: one goroutine accepts all connections of a listener. A panic there ends the
// connection that it was about, which does not count any more, and no lock stays held.
func TestPanicInAccept(t *testing.T) {
	var log testkit.Output
	registry := prometheus.NewRegistry()
	blocked, let := make(chan struct{}), make(chan struct{})
	defer close(let)
	mux := http.NewServeMux()
	mux.Handle("/", site())
	mux.HandleFunc("/held", func(http.ResponseWriter, *http.Request) {
		blocked <- struct{}{}
		<-let
	})
	p, addr := serving(t, mux, Config{MaxConnections: 1, Registerer: registry, Logger: slog.New(slog.NewTextHandler(&log, nil))}, false)
	idle := dial(t, addr, "")
	if !answered(t, idle) {
		t.Fatal("a connection is not answered")
	}
	time.Sleep(200 * time.Millisecond) // the server marks the connection idle after its answer
	p.closing.Store(true)              // of the idle one, which makes room
	ends(t, "the connection that comes in where another one cannot be closed", dial(t, addr, ""))
	ends(t, "the idle one", idle)
	logs(t, &log, "accepting a connection panicked: planted")
	dial(t, addr, "GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	<-blocked
	p.address.Store(true) // of the refused one, for the log
	ends(t, "the connection that is refused", dial(t, addr, ""))
	if n := gathered(t, registry, "tidemark_http_refused_total", "connections"); n != 1 {
		t.Errorf("%v refused connections are counted, want 1", n)
	}
	p.address.Store(false)
	if n := gathered(t, registry, "tidemark_http_connections", ""); n != 1 {
		t.Errorf("%v connections count, want 1", n)
	}
}

// TestPanicInTheErrorLog: net/http logs a handler's panic where it has just recovered it. A panic
// of the log ends that connection and not the process.
func TestPanicInTheErrorLog(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("/", site())
	mux.HandleFunc("/panic", func(http.ResponseWriter, *http.Request) { panic("planted") })
	addr := start(t, Config{Logger: slog.New(panicking{slog.DiscardHandler})}, nil, mux)
	before := dial(t, addr, "")
	if !answered(t, before) {
		t.Fatal("a connection is not answered")
	}
	for range 3 {
		ends(t, "a call that panicked", dial(t, addr, "GET /panic HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
	}
	if !answered(t, before) || !answered(t, dial(t, addr, "")) {
		t.Error("connections are not answered after the log panicked")
	}
}

// panicking is a log that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("planted") }

// logs waits until the log has a text. The line of a panic is written after what the panic ended.
func logs(t *testing.T, log *testkit.Output, text string) {
	t.Helper()
	for end := time.Now().Add(patience); !strings.Contains(log.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("the log does not have %q: %s", text, log.String())
			return
		}
	}
}
