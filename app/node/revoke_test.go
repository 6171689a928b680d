package node_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// sharedSecret returns a proof with a shared secret.
func sharedSecret(t *testing.T) peer.Proof {
	t.Helper()
	name := filepath.Join(t.TempDir(), "peers")
	testkit.Replace(t, name, bytes.Repeat([]byte{'s'}, 32))
	return bySecret(t, name)
}

// bySecret returns the proof of a node with the secrets of a file.
func bySecret(t *testing.T, name string) peer.Proof {
	t.Helper()
	s, err := peer.OpenSecrets(name, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return peer.Proof{Secrets: s}
}

// lasting is an open stream or socket of a test.
type lasting struct {
	ended chan struct{}
	why   error // once ended is closed
}

func (l *lasting) open() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// watch opens a WatchUnread stream and returns once its snapshot has come.
func watch(t *testing.T, url, token string, options ...connect.ClientOption) *lasting {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	transport := query.PeerTransport(nil)
	client := queryv1connect.NewQueryServiceClient(&http.Client{Transport: transport}, url, options...)
	l := &lasting{ended: make(chan struct{})}
	t.Cleanup(func() {
		cancel()
		<-l.ended
		transport.CloseIdleConnections()
	})
	var stream *connect.ServerStreamForClient[queryv1.WatchUnreadResponse]
	until(t, func() error { // the owner may be unknown at first
		req := connect.NewRequest(&queryv1.WatchUnreadRequest{})
		req.Header().Set("Authorization", "Bearer "+token)
		s, err := client.WatchUnread(ctx, req)
		if err != nil {
			return err
		}
		if !s.Receive() {
			return errors.Join(s.Err(), s.Close())
		}
		stream = s
		return nil
	})
	go func() {
		defer close(l.ended)
		for stream.Receive() {
		}
		l.why = stream.Err()
		_ = stream.Close() // it has ended
	}()
	return l
}

// socket opens a socket and returns once the gateway has greeted it.
func socket(t *testing.T, url, token string) *lasting {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &lasting{ended: make(chan struct{})}
	t.Cleanup(func() {
		cancel()
		<-l.ended
	})
	ws, _, err := websocket.Dial(ctx, url+"/v1/socket", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}}) //nolint:bodyclose // it is the socket's
	if err != nil {
		close(l.ended)
		t.Fatal(err)
	}
	if _, hello, err := ws.Read(ctx); err != nil || !strings.Contains(string(hello), `"hello"`) {
		t.Errorf("%s, %v", hello, err)
	}
	go func() {
		defer close(l.ended)
		for l.why == nil {
			_, _, l.why = ws.Read(ctx)
		}
		_ = ws.CloseNow() // it has ended
	}()
	return l
}

// A revoked user or token, and a removed key, end open sockets and streams (gRPC and Connect), on
// the node that has the data and on one that forwards. They end no others, and new connections are
// refused.
func TestRevokingEndsSocketsAndStreams(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 2)
	group := testkit.UniqueName(t, "node")
	r := authtest.NewRevocable(t)
	proof := sharedSecret(t)
	start := func(roles ...config.Role) *running {
		c := options(t, env, topics, group, roles...)
		c.Verifier, c.Peers = r.Verifier(t), proof
		return run(t, c)
	}
	owner := start(config.RoleProcessor, config.RoleQuery, config.RoleGateway)
	forwards := start(config.RoleQuery, config.RoleGateway)
	awaitReady(t, owner, 2)
	awaitReady(t, forwards, 0)

	tokens := map[string]string{
		"ann": r.Token(t, "ann", "a1", false), "bob": r.Token(t, "bob", "b1", false), "bob's other": r.Token(t, "bob", "b2", false),
		"dan": r.Token(t, "dan", "d1", true), "eve": r.Token(t, "eve", "e1", false),
	}
	held := map[string]map[string]*lasting{}
	var mu sync.Mutex
	var opening sync.WaitGroup
	for who, token := range tokens {
		list := map[string]*lasting{}
		held[who] = list
		for where, n := range map[string]*running{"the owner": owner, "a node that forwards": forwards} {
			for kind, open := range map[string]func() *lasting{
				"socket":  func() *lasting { return socket(t, n.url, token) },
				"gRPC":    func() *lasting { return watch(t, n.url, token, connect.WithGRPC()) },
				"Connect": func() *lasting { return watch(t, n.url, token) },
			} {
				opening.Go(func() {
					l := open()
					mu.Lock()
					defer mu.Unlock()
					list[kind+" at "+where] = l
				})
			}
		}
	}
	opening.Wait()
	out := map[string]bool{}
	for _, step := range []struct {
		what string
		do   func()
		out  string
	}{
		{"a user is revoked", func() { r.Revoke(t, "sub:ann\n") }, "ann"},
		{"a token is revoked", func() { r.Revoke(t, "sub:ann\njti:b2\n") }, "bob's other"},
		{"a key is removed", func() { r.RemoveSecond(t) }, "dan"},
	} {
		step.do()
		out[step.out] = true
		for which, l := range held[step.out] {
			select {
			case <-l.ended:
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s: %s of %s is still open", step.what, which, step.out)
			}
			if strings.HasPrefix(which, "socket") {
				if code := websocket.CloseStatus(l.why); code != gateway.CloseToken || !strings.Contains(l.why.Error(), "the token was revoked") {
					t.Errorf("%s: %s: %v", step.what, which, l.why)
				}
			} else if connect.CodeOf(l.why) != connect.CodeUnauthenticated || !strings.Contains(l.why.Error(), "the token was revoked") {
				t.Errorf("%s: %s: %v", step.what, which, l.why)
			}
		}
		for who, list := range held {
			for which, l := range list {
				if !out[who] && !l.open() {
					t.Errorf("%s: %s of %s has ended: %v", step.what, which, who, l.why)
				}
			}
		}
	}
	for who, token := range tokens {
		for _, n := range []*running{owner, forwards} {
			want := http.StatusOK
			if out[who] {
				want = http.StatusUnauthorized
			}
			until(t, func() error {
				if status, text := asked(t, http.DefaultClient, n.url+"/tidemark.query.v1.QueryService/GetInbox", token, "{}"); status != want {
					return fmt.Errorf("%s: %d %s, want %d", who, status, text, want)
				}
				return nil
			})
		}
	}
}

// The owner may be the first to read the list. A caller behind another node then gets an error
// about the token, and not about trust between nodes.
func TestAnOwnerThatReadsTheListFirst(t *testing.T) {
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 1)
	group := testkit.UniqueName(t, "node")
	early, late := authtest.NewRevocable(t), authtest.NewRevocable(t)
	proof := sharedSecret(t)
	start := func(r *authtest.Revocable, roles ...config.Role) *running {
		c := options(t, env, topics, group, roles...)
		c.Verifier, c.Peers = r.Verifier(t), proof
		return run(t, c)
	}
	awaitReady(t, start(early, config.RoleProcessor, config.RoleQuery), 1)
	l := watch(t, start(late, config.RoleQuery).url, late.Token(t, "ann", "a1", false))
	early.Revoke(t, "jti:a1\n")
	select {
	case <-l.ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream is still open")
	}
	if connect.CodeOf(l.why) != connect.CodeUnauthenticated || !strings.Contains(l.why.Error(), "the token was revoked") {
		t.Error(l.why)
	}
}
