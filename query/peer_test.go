package query

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// as returns a client of to that calls as the node from, with from's proof.
func (c *cluster) as(from, to *node) queryv1connect.QueryServiceClient {
	proof := from.proof
	return queryv1connect.NewQueryServiceClient(&http.Client{Transport: proof.Transport(to.srv.Client().Transport, to.srv.URL)}, to.srv.URL)
}

// Forwarding headers are for nodes. A caller that sends them without proof is refused, so that it
// cannot avoid the age check of page tokens or the limit of hops; a node's headers are limited.
func TestForwardingHeadersOfStrangers(t *testing.T) {
	for name, keys := range map[string]bool{"with keys": true, "without keys": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 2, 2, func(c *Config) {
				if keys {
					c.Verifier = authtest.Verifier(t)
				}
			})
			c.join("general", "ann")
			token := ""
			if keys {
				token = authtest.Token(t, "ann", time.Hour)
			}
			for header, value := range map[string]string{headerHops: "0", headerPartitions: "0", "Tidemark-Peer": "v1 1 - - -"} {
				for protocol, q := range protocols(c.nodes[0].srv.URL) {
					req := called(&queryv1.GetInboxRequest{UserId: "ann"}, token)
					req.Header().Set(header, value)
					_, err := q.GetInbox(t.Context(), req)
					wantCode(t, protocol+", "+header, err, connect.CodeUnauthenticated)
				}
			}
			for _, hops := range []string{"-1", "3", "x", "99999999999999999999"} {
				req := connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: c.channelOn("far", 1)})
				req.Header().Set(headerHops, hops)
				_, err := c.as(c.nodes[1], c.nodes[0]).GetChannel(
					auth.WithIdentity(t.Context(), auth.Identity{Subject: "svc", Scopes: auth.ScopeRead}), req)
				wantCode(t, "hops "+hops, err, connect.CodeUnavailable)
			}
		})
	}
}

// recorder records the calls of one node to another.
type recorder struct {
	base http.RoundTripper

	mu   sync.Mutex
	sent []*http.Request
	body [][]byte
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.mu.Lock()
	r.sent, r.body = append(r.sent, req.Clone(context.Background())), append(r.body, body)
	r.mu.Unlock()
	return r.base.RoundTrip(req)
}

// A forwarded call has no token in any header. Its proof is valid for that call to that node, for
// half a minute, and for nothing else.
func TestWhatIsForwardedIsGoodForNothingElse(t *testing.T) {
	var wire []*recorder
	c := newCluster(t, 2, 3, func(c *Config) {
		c.Verifier = authtest.Verifier(t)
		wire = append(wire, &recorder{base: PeerTransport(nil)})
		c.Transport = wire[len(wire)-1]
	})
	far := c.channelOn("far", 1)
	c.join(far, "ann", "bob")
	c.post(far, "m1", "bob")
	ann := authtest.Token(t, "ann", time.Hour)
	if _, err := c.nodes[0].query.GetUnread(t.Context(), called(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: far}, ann)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.nodes[0].query.GetInbox(t.Context(), called(&queryv1.GetInboxRequest{}, ann)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := c.nodes[0].query.WatchUnread(ctx, called(&queryv1.WatchUnreadRequest{}, ann))
	if err != nil || !stream.Receive() {
		t.Fatal(err, stream.Err())
	}
	cancel()
	_ = stream.Close()
	wire[0].mu.Lock()
	defer wire[0].mu.Unlock()
	if len(wire[0].sent) < 3 {
		t.Fatalf("%d calls were forwarded, want one of each kind", len(wire[0].sent))
	}
	for _, r := range wire[0].sent {
		for name, values := range r.Header {
			for _, part := range append(strings.Split(ann, "."), "Bearer") {
				if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, part) }) {
					t.Errorf("%s: header %s has a piece of the token", r.URL.Path, name)
				}
			}
		}
	}

	// The test takes the first such call, changed in one way each.
	i := slices.IndexFunc(wire[0].sent, func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/GetUnread") })
	again := func(to *node, change func(*http.Request, *[]byte)) int {
		r, body := wire[0].sent[i].Clone(t.Context()), bytes.Clone(wire[0].body[i])
		r.URL.Host, r.Host, r.RequestURI = strings.TrimPrefix(to.srv.URL, "http://"), wire[0].sent[i].URL.Host, ""
		change(r, &body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		res, err := PeerTransport(nil).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	owner, other := c.nodes[1], c.nodes[2]
	if code := again(owner, func(*http.Request, *[]byte) {}); code != http.StatusOK {
		t.Errorf("as it was: %d", code)
	}
	statement := func(field int, value string) func(*http.Request, *[]byte) {
		return func(r *http.Request, _ *[]byte) {
			f := strings.Split(r.Header.Get("Tidemark-Peer"), " ")
			f[field] = value
			r.Header.Set("Tidemark-Peer", strings.Join(f, " "))
		}
	}
	for what, change := range map[string]func(*http.Request, *[]byte){
		"another body":      func(_ *http.Request, b *[]byte) { *b = bytes.ReplaceAll(*b, []byte("ann"), []byte("bob")) },
		"no body":           func(_ *http.Request, b *[]byte) { *b = nil },
		"another method":    func(r *http.Request, _ *[]byte) { r.URL.Path = strings.Replace(r.URL.Path, "GetUnread", "GetInbox", 1) },
		"a query":           func(r *http.Request, _ *[]byte) { r.URL.RawQuery = "x=1" },
		"fewer hops":        func(r *http.Request, _ *[]byte) { r.Header.Set(headerHops, "0") },
		"partitions":        func(r *http.Request, _ *[]byte) { r.Header.Set(headerPartitions, "0") },
		"hops twice":        func(r *http.Request, _ *[]byte) { r.Header.Add(headerHops, "0") },
		"another time":      statement(1, "1"),
		"another hash":      statement(2, "AAAA"),
		"another caller":    statement(3, "eyJzdWIiOiJib2IiLCJzY29wZSI6InNlcnZpY2UifQ"),
		"no caller":         statement(3, "-"),
		"no signature":      statement(4, "-"),
		"another signature": statement(4, strings.Repeat("A", 43)),
	} {
		if code := again(owner, change); code != http.StatusUnauthorized {
			t.Errorf("%s: %d, want 401", what, code)
		}
	}
	if code := again(other, func(*http.Request, *[]byte) {}); code != http.StatusUnauthorized {
		t.Errorf("at another node: %d, want 401", code)
	}
}

// A client that may only read the group's metadata, and so has the relay keys, cannot state a
// caller.
func TestARelayKeyDoesNotSpeakForUsers(t *testing.T) {
	c := newCluster(t, 2, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	c.join("general", "ann")
	to := c.nodes[0]
	monitor := &peer.Proof{RelayKey: to.RelayKey}
	q := queryv1connect.NewQueryServiceClient(&http.Client{Transport: monitor.Transport(http.DefaultTransport, to.srv.URL)}, to.srv.URL)
	if _, err := q.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"})); connect.CodeOf(err) != connect.CodeUnauthenticated {
		t.Errorf("without a caller: %v", err)
	}
	ctx := auth.WithIdentity(t.Context(), auth.Identity{Subject: "root", Scopes: auth.ScopeService})
	if _, err := q.GetInbox(ctx, connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann"})); !errors.Is(err, peer.ErrNoProof) {
		t.Errorf("with one: %v", err)
	}
}

// A node with keys and without proof of its own forwards no caller's token anywhere: it refuses
// with an explanation. A service token of its own is enough; callers are then authorized at this
// node.
func TestWithoutProofNothingIsForwarded(t *testing.T) {
	var leaked []string
	var mu sync.Mutex
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked = append(leaked, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer evil.Close()
	service := authtest.Service(t)
	for name, own := range map[string]func() (string, error){
		"nothing": nil, "a service token": func() (string, error) { return service, nil },
	} {
		c := newCluster(t, 2, 2, func(c *Config) {
			c.Verifier, c.Peers = authtest.Verifier(t), peer.Proof{ServiceToken: own}
		})
		far := c.channelOn("far", 1)
		c.join(far, "ann", "bob")
		ann := authtest.Token(t, "ann", time.Hour)
		ask := func() error {
			_, err := c.nodes[0].query.GetUnread(t.Context(), called(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: far}, ann))
			return err
		}
		if err := ask(); own != nil && err != nil || own == nil && (connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "--peer-secret-file")) {
			t.Errorf("%s: %v", name, err)
		}
		c.mu.Lock()
		c.nodes[1].url = evil.URL
		c.mu.Unlock()
		if err := ask(); connect.CodeOf(err) != connect.CodeUnavailable {
			t.Errorf("%s, an owner that is none: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, token := range leaked {
		if token != "" && token != "Bearer "+service {
			t.Errorf("a user's token was sent away: %.20s…", token)
		}
	}
}
