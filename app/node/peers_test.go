package node_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// secured has the files of a node that proves its identity with a certificate, which is also its
// server certificate.
type secured struct{ cert, key, ca string }

// papers creates, in a new directory, the files of a certificate of one authority and of the
// authority of all nodes.
func papers(t *testing.T, of, nodes *testkit.Authority) secured {
	t.Helper()
	dir := t.TempDir()
	cert, key := of.Issue(t, dir, "a node")
	return secured{cert, key, testkit.FileOf(t, filepath.Join(dir, "ca.pem"), nodes)}
}

// apply makes c use the files, and returns its log.
func (s secured) apply(t *testing.T, c *node.Config) *testkit.Output {
	t.Helper()
	log := &testkit.Output{}
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	var err error
	if c.TLS, err = config.ServedTLS(s.cert, s.key, c.Logger); err != nil {
		t.Fatal(err)
	}
	if c.PeerTLS, err = (config.PeerTLS{CertFile: s.cert, KeyFile: s.key, CAFile: s.ca}).Apply(c.TLS, nil, c.Logger); err != nil {
		t.Fatal(err)
	}
	c.Peers = peer.Proof{Certificates: true}
	return log
}

// visitor returns a client that trusts an authority, and presents a certificate if it has one.
func visitor(t *testing.T, trusts *testkit.Authority, shows *secured) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: x509.NewCertPool()} //nolint:gosec // TLS 1.2 at least by default
	c.RootCAs.AppendCertsFromPEM(trusts.PEM)
	if shows != nil {
		pair, err := tls.LoadX509KeyPair(shows.cert, shows.key)
		if err != nil {
			t.Fatal(err)
		}
		// It ignores which authorities the server names, as an attacker would.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: c}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// asked returns the status and the body of a node's answer; the body has a client's error.
func asked(t *testing.T, by *http.Client, url, token, body string, header ...string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := by.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const (
	getUnread = "/tidemark.query.v1.QueryService/GetUnread"
	publishTo = "/tidemark.ingest.v1.IngestService/Publish"
	ofGeneral = `{"channel_id":"general"}`
)

// counts waits until a node answers that a user has one unread message in the channel general.
func counts(t *testing.T, by *http.Client, n *running, token string) {
	t.Helper()
	until(t, func() error {
		if status, text := asked(t, by, n.url+getUnread, token, ofGeneral); status != http.StatusOK || !strings.Contains(text, `"unread":1`) {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
}

// Nodes prove their identity by certificates in real handshakes, and forward calls. On both sides a
// peer with a certificate of another authority, or without one, is refused with a reason.
func TestNodesProveThemselvesByCertificates(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	group := testkit.UniqueName(t, "node")
	nodes, strangers := testkit.NewAuthority(t, "nodes"), testkit.NewAuthority(t, "strangers")
	start := func(group string, of *testkit.Authority, roles ...config.Role) (*running, *testkit.Output) {
		c := options(t, env, topics, group, roles...)
		c.Verifier = authtest.Verifier(t)
		log := papers(t, of, nodes).apply(t, &c)
		return run(t, c), log
	}
	owner, ownerLog := start(group, nodes, config.RoleProcessor, config.RoleQuery)
	honest, _ := start(group, nodes, config.RoleQuery)
	ann := authtest.Token(t, "ann", time.Hour)
	client := visitor(t, nodes, nil)
	until(t, func() error {
		if status, text := asked(t, client, owner.url+publishTo, authtest.Service(t), `{"events":[`+joined+`,`+first+`]}`); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	counts(t, client, owner, ann)
	counts(t, client, honest, ann) // this node has no data

	// A client without a certificate is not a node: its own token counts, and its statements about
	// other callers do not.
	for name, header := range map[string][]string{
		"a statement": {"Tidemark-Peer", "v1 " + fmt.Sprint(time.Now().UnixMilli()) + " x eyJzdWIiOiJhbm4iLCJzY29wZSI6InNlcnZpY2UifQ x"},
		"hops":        {"Tidemark-Hops", "1"}, "partitions": {"Tidemark-Partitions", "0"},
	} {
		for _, token := range []string{"", ann} {
			if status, text := asked(t, client, owner.url+getUnread, token, ofGeneral, header...); status != http.StatusUnauthorized ||
				!strings.Contains(text, "this call is not from a node of this cluster: ") {
				t.Errorf("a client with %s: %d %s", name, status, text)
			}
		}
	}

	// A node with a certificate of another authority gets no answer, not even as a client, and logs
	// why.
	evil, evilLog := start(group, strangers, config.RoleQuery)
	asksEvil := visitor(t, strangers, nil)
	wantRefused := func(what string, by *http.Client, n *running) {
		t.Helper()
		const words = "this node and the owner of the data do not trust each other's certificates"
		until(t, func() error { // at first it may not know the owner
			status, text := asked(t, by, n.url+getUnread, ann, ofGeneral)
			if status == http.StatusOK {
				t.Fatalf("%s: it is answered: %s", what, text)
			}
			if status != http.StatusServiceUnavailable || !strings.Contains(text, words) {
				return fmt.Errorf("%s: %d %s", what, status, text)
			}
			return nil
		})
	}
	wantRefused("a node of strangers asks", asksEvil, evil)
	until(t, func() error { // a call that waited for another call's connection does not get its error
		asked(t, asksEvil, evil.url+getUnread, ann, ofGeneral)
		if message := evilLog.String(); !strings.Contains(message, "tls: ") {
			return fmt.Errorf("it does not say why: %s", message)
		}
		return nil
	})
	ownerLog.Await(t, "TLS handshake error")
	shows := papers(t, strangers, nodes)
	if status, text := asked(t, visitor(t, nodes, &shows), owner.url+getUnread, ann, ofGeneral); status != 0 || !strings.Contains(text, "tls: ") {
		t.Errorf("a client with a certificate of strangers: %d %s", status, text)
	}

	// Other nodes do not call it either, so it learns nothing of their callers.
	group = testkit.UniqueName(t, "node")
	thief, _ := start(group, strangers, config.RoleProcessor, config.RoleQuery)
	until(t, func() error {
		if status, text := asked(t, asksEvil, thief.url+getUnread, ann, ofGeneral); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	victim, _ := start(group, nodes, config.RoleQuery)
	wantRefused("a node of strangers is asked", client, victim)
}

// Certificates and authorities are replaced in their files, and running nodes use the new ones, as
// servers and as clients.
func TestCertificatesOfNodesAreReplaced(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	group := testkit.UniqueName(t, "node")
	before, after := testkit.NewAuthority(t, "before"), testkit.NewAuthority(t, "after")
	start := func(s secured, dir string, roles ...config.Role) *running {
		c := options(t, env, topics, group, roles...)
		c.DataDir, c.Verifier = dir, authtest.Verifier(t)
		s.apply(t, &c)
		return run(t, c)
	}
	of := [3]secured{papers(t, before, before), papers(t, before, before), papers(t, before, before)}
	dir := t.TempDir()
	owner, asking := start(of[0], dir, config.RoleProcessor, config.RoleQuery), start(of[1], "", config.RoleQuery)
	ann := authtest.Token(t, "ann", time.Hour)
	client := visitor(t, before, nil)
	until(t, func() error {
		if status, text := asked(t, client, owner.url+publishTo, authtest.Service(t), `{"events":[`+joined+`,`+first+`]}`); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		return nil
	})
	counts(t, client, asking, ann)
	for _, s := range of {
		testkit.FileOf(t, s.ca, after)
		after.Issue(t, filepath.Dir(s.cert), "a node")
	}
	client = visitor(t, after, nil)
	counts(t, client, start(of[2], "", config.RoleQuery), ann) // the owner accepts its certificate, and presents a new one
	if err := owner.stop(); err != nil {
		t.Error(err)
	}
	start(of[0], dir, config.RoleProcessor, config.RoleQuery) // accepts only new ones, at another address
	counts(t, client, asking, ann)
}

// A node that others refuse, or that has no proof, reports this in /readyz, with the reason, until
// they accept it. It still answers for its own partitions, so it stays in service. A node without
// partitions whose token has expired is of no use, and reports that too. The other node logs at
// most one line per second about refused calls.
func TestReadyzSaysWhatProofIsMissing(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	group := testkit.UniqueName(t, "node")
	right, wrong := bytes.Repeat([]byte{'r'}, 32), bytes.Repeat([]byte{'w'}, 32)
	secret := filepath.Join(t.TempDir(), "peers")
	testkit.Replace(t, secret, right)
	start := func(p peer.Proof, roles ...config.Role) (*running, *testkit.Output) {
		c := options(t, env, topics, group, roles...)
		log := &testkit.Output{}
		c.Verifier, c.Peers, c.Logger = authtest.Verifier(t), p, slog.New(slog.NewTextHandler(log, nil))
		return run(t, c), log
	}
	owner, ownerLog := start(bySecret(t, secret), config.RoleProcessor, config.RoleQuery)
	awaitReady(t, owner, 2)
	own := filepath.Join(t.TempDir(), "peers")
	testkit.Replace(t, own, wrong)
	doubted, _ := start(bySecret(t, own), config.RoleQuery)
	mute, _ := start(peer.Proof{}, config.RoleQuery)
	expired := errors.New("the service token has expired")
	speechless, _ := start(peer.Proof{ServiceToken: func() (string, error) { return "", expired }}, config.RoleQuery)

	ann := authtest.Token(t, "ann", time.Hour)
	expect := func(n *running, status int, line string) {
		t.Helper()
		until(t, func() error {
			asked(t, http.DefaultClient, n.url+getUnread, ann, ofGeneral)
			got, text := get(t, n.url+"/readyz")
			if got != status || !strings.Contains(text, line) || line == "" && strings.Contains(text, "forwarded") {
				return fmt.Errorf("%d %s; want %d %s", got, text, status, line)
			}
			return nil
		})
	}
	host := strings.TrimPrefix(owner.url, "http://")
	expect(doubted, http.StatusOK, "calls cannot be forwarded to "+host+": the owner of the data does not take this node for one of its cluster: "+
		"this call is not from a node of this cluster: its signature matches no secret of this node")
	expect(mute, http.StatusOK, "calls cannot be forwarded to "+host+": the data is on another node, and this node cannot prove to "+
		"it that it is a node")
	expect(speechless, http.StatusServiceUnavailable, "query: the service token has expired")
	began := time.Now()
	for time.Since(began) < 2*time.Second {
		asked(t, http.DefaultClient, doubted.url+getUnread, ann, ofGeneral)
	}
	const refused = "a call was refused: it claims to come from a node, without proof"
	if n := strings.Count(ownerLog.String(), refused); n == 0 || n > 3+int(time.Since(began).Seconds())+5 || !strings.Contains(ownerLog.String(), "left_out=") {
		t.Errorf("%d lines:\n%s", n, ownerLog)
	}
	testkit.Replace(t, own, right)
	expect(doubted, http.StatusOK, "")
}
