package peer

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/reread"
)

const (
	oldSecret = "the old secret of all nodes, with 32 bytes"
	newSecret = "the new secret of all nodes, with 32 bytes"
	self      = "http://10.0.0.5:8080"
)

func secrets(t *testing.T, text string) *Secrets {
	t.Helper()
	name := filepath.Join(t.TempDir(), "peers")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSecrets(name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call sends a call from one node to another without a network, and returns the request as the
// other one accepts it.
func call(t *testing.T, from, to *Proof, who *auth.Identity) (accepted *http.Request, err error) {
	t.Helper()
	ctx := t.Context()
	if who != nil {
		ctx = auth.WithIdentity(ctx, *who)
	}
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, self+"/q/GetUnread", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	out.Header.Set("Authorization", "Bearer of-a-user")
	out.Header.Set(HeaderHops, "1")
	_, err = from.Transport(transportFunc(func(r *http.Request) (*http.Response, error) {
		in := httptest.NewRequest(r.Method, r.URL.RequestURI(), r.Body)
		in.Host, in.Header = r.URL.Host, r.Header
		if h := r.Header.Get("Authorization"); strings.Contains(h, "of-a-user") {
			t.Errorf("a user's token leaves the node: %s", h)
		}
		accepted, err = to.Accept(in, 100)
		return &http.Response{Body: http.NoBody}, err
	}), self).RoundTrip(out) //nolint:bodyclose // of nothing
	return accepted, err
}

type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The identity of a caller arrives unchanged at the other node.
func TestACallerIsNamed(t *testing.T) {
	from, to := &Proof{Secrets: secrets(t, newSecret)}, &Proof{Secrets: secrets(t, newSecret), Self: self}
	for _, who := range []auth.Identity{
		{Subject: "ann"}, {Subject: "ann\nbob: ü \"", ID: "x", Scopes: auth.ScopeRead | auth.ScopeErase, Expires: time.UnixMilli(time.Now().Add(time.Hour).UnixMilli())},
	} {
		in, err := call(t, from, to, &who)
		if err != nil {
			t.Fatal(err)
		}
		got, known := auth.IdentityOf(in.Context())
		body, _ := io.ReadAll(in.Body)
		if !known || got != who || !auth.FromPeer(in.Context()) || string(body) != "question" {
			t.Errorf("%+v arrives as %+v (%v), %q", who, got, known, body)
		}
	}
	in, err := call(t, from, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := auth.IdentityOf(in.Context()); known || !auth.FromPeer(in.Context()) {
		t.Error("a node without keys names a caller")
	}
	if _, err := call(t, from, to, &auth.Identity{Subject: "ann", Expires: time.Now().Add(-time.Minute)}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("a caller whose token is over: %v", err)
	}
}

// Operators replace a secret while nodes run: they add it as the second, make it the first, and
// remove the old one. Nodes that are one step apart trust each other. Half-written files change
// nothing.
func TestASecretIsChangedWithoutARestart(t *testing.T) {
	steps := []string{oldSecret, oldSecret + "\n" + newSecret, newSecret + "\n" + oldSecret + "\n", newSecret}
	for i := range steps {
		for _, j := range []int{i - 1, i, i + 1} {
			if j < 0 || j >= len(steps) {
				continue
			}
			if _, err := call(t, &Proof{Secrets: secrets(t, steps[i])}, &Proof{Secrets: secrets(t, steps[j]), Self: self}, nil); err != nil {
				t.Errorf("from step %d to step %d: %v", i, j, err)
			}
		}
	}
	if _, err := call(t, &Proof{Secrets: secrets(t, oldSecret)}, &Proof{Secrets: secrets(t, newSecret), Self: self}, nil); err == nil ||
		!strings.Contains(err.Error(), "--peer-secret-file") {
		t.Errorf("by the old secret, when it is gone: %v", err)
	}
	s := secrets(t, oldSecret)
	now := time.Now()
	s.now = func() time.Time { return now }
	for _, step := range []struct{ text, want string }{{"short", oldSecret}, {"", oldSecret}, {newSecret, newSecret}} {
		now = now.Add(2 * reread.Every)
		if err := os.WriteFile(s.file, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(s.file, now, now); err != nil {
			t.Fatal(err)
		}
		if got := string(s.current()[0]); got != step.want {
			t.Errorf("after %q: %q", step.text, got)
		}
	}
	for _, text := range []string{"", "short", strings.Repeat(newSecret+"\n", maxSecrets+1), newSecret + "\nshort"} {
		if _, err := parseSecrets([]byte(text)); err == nil {
			t.Errorf("%.50q is taken", text)
		}
	}
}

// An old signature, one of a wrong clock, and a body that is too long are refused with a reason.
func TestAStatementAges(t *testing.T) {
	both := secrets(t, newSecret)
	for off, taken := range map[time.Duration]bool{0: true, 29 * time.Second: true, -29 * time.Second: true, 31 * time.Second: false, -31 * time.Second: false} {
		from := &Proof{Secrets: both, Now: func() time.Time { return time.Now().Add(off) }}
		_, err := call(t, from, &Proof{Secrets: both, Self: self}, nil)
		if taken != (err == nil) || err != nil && !strings.Contains(err.Error(), "clocks") {
			t.Errorf("%s off: %v", off, err)
		}
	}
	if _, err := call(t, &Proof{Secrets: both}, &Proof{Secrets: both, Self: "http://10.0.0.6:8080"}, nil); err == nil {
		t.Error("what is for another node is taken")
	}
}

// A certificate proves only calls over https, and only if it was verified.
func TestACertificateOfANode(t *testing.T) {
	p := &Proof{Certificates: true}
	ctx := auth.WithIdentity(t.Context(), auth.Identity{Subject: "ann"})
	if err := p.MaySend(ctx, self); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("by http: %v", err)
	}
	if err := p.MaySend(ctx, "https://10.0.0.5:8080"); err != nil {
		t.Error(err)
	}
	for name, state := range map[string]*tls.ConnectionState{
		"none": nil, "TLS without a certificate": {}, "one that nobody verified": {PeerCertificates: []*x509.Certificate{{}}},
		"a node's": {VerifiedChains: [][]*x509.Certificate{{{}}}},
	} {
		in := httptest.NewRequest(http.MethodPost, "/q/GetUnread", http.NoBody)
		s := statement{at: time.Now().UnixMilli(), body: hashOf(nil), caller: encodeCaller(auth.Identity{Subject: "ann"}, true), mac: none}
		in.Header.Set(header, s.String())
		in.TLS = state
		if _, err := p.Accept(in, 100); (err == nil) != (name == "a node's") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
