package config

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// trapped is a log that panics once when it is set.
type trapped struct {
	slog.Handler
	set *atomic.Bool
}

func (h trapped) Enabled(context.Context, slog.Level) bool { return true }

func (h trapped) Handle(context.Context, slog.Record) error {
	if h.set.CompareAndSwap(true, false) {
		panic("planted")
	}
	return nil
}

// TestPanicInTheHandshake: crypto/tls calls what gives it certificates and authorities in
// goroutines of net/http. A panic in each of them, on either side, fails that handshake. The next
// ones succeed, so no lock stayed held, and no goroutine stays.
func TestPanicInTheHandshake(t *testing.T) {
	var set atomic.Bool
	log := slog.New(trapped{slog.DiscardHandler, &set})
	nodes := testkit.NewAuthority(t, "nodes")
	type papers struct{ cert, key, ca string }
	issue := func() papers {
		dir := t.TempDir()
		cert, key := nodes.Issue(t, dir, "a node")
		return papers{cert, key, testkit.FileOf(t, filepath.Join(dir, "ca.pem"), nodes)}
	}
	served, serving, calling := issue(), issue(), issue()
	listener, err := ServedTLS(served.cert, served.key, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = (PeerTLS{serving.cert, serving.key, serving.ca}).Apply(listener, nil, log); err != nil {
		t.Fatal(err)
	}
	peers, err := PeerTLS{calling.cert, calling.key, calling.ca}.Apply(nil, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{
		TLSConfig: listener, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.VerifiedChains) == 0 {
				http.Error(w, "no certificate of a node", http.StatusUnauthorized)
			}
		}),
	}
	var running sync.WaitGroup
	running.Go(func() { _ = srv.ServeTLS(ln, "", "") }) // ends with Close
	defer running.Wait()
	defer srv.Close()
	call := func() error {
		transport := &http.Transport{TLSClientConfig: peers, DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		res, err := (&http.Client{Transport: transport, Timeout: 2 * time.Minute}).Get("https://" + ln.Addr().String())
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("a node is answered with %s, %v", res.Status, err)
		}
		return nil
	}
	if err := call(); err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	for _, c := range []struct{ callback, file, message string }{
		{"GetCertificate", served.cert, "remote error: tls: internal error"},
		{"GetConfigForClient", serving.ca, "remote error: tls: internal error"},
		{"GetClientCertificate", calling.cert, "presenting a certificate panicked: planted"},
		{"VerifyConnection", calling.ca, "verifying another node panicked: planted"},
	} {
		set.Store(true)
		testkit.Replace(t, c.file, []byte("half of a file"))
		var failed error
		testkit.Await(t, c.callback+" panics", func() bool { // files are looked at once a second
			failed = call()
			return failed != nil
		})
		if set.Load() || !strings.Contains(failed.Error(), c.message) {
			t.Errorf("%s: the call fails with %v, want %q", c.callback, failed, c.message)
		}
		for range 3 {
			if err := call(); err != nil {
				t.Errorf("%s: after it panicked a call fails: %v", c.callback, err)
			}
		}
	}
	testkit.Await(t, "all goroutines of connections end", func() bool { return runtime.NumGoroutine() <= before })
}
