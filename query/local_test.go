package query

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// asked returns an answer, or the text of an error with its code, as text.
func asked[Res any](res *Res, err error) string {
	if err != nil {
		return err.Error()
	}
	m := any(res).(proto.Message)
	b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(m) // of valid text
	return string(b)
}

func overHTTP[Res any](res *connect.Response[Res], err error) string {
	if err != nil {
		return asked[Res](nil, err)
	}
	return asked(res.Msg, nil)
}

// Local gives the same answers as the handler, including errors, whichever node owns the channels.
func TestLocalAnswersAsTheHandlerDoes(t *testing.T) {
	for nodes := 1; nodes <= 3; nodes++ {
		now := time.Now()
		c := newCluster(t, 4, nodes, func(cfg *Config) { cfg.Now = func() time.Time { return now } })
		var last string
		for i := range 12 {
			ch := fmt.Sprintf("channel-%d", i)
			c.join(ch, "ann", "bob")
			last = c.post(ch, "m", "bob")
		}
		local, remote := NewLocal(c.nodes[0].cfg), c.nodes[0].query
		ctx := t.Context()
		for _, m := range []*queryv1.GetInboxRequest{
			{UserId: "ann"}, {UserId: "ann", PageSize: 5}, {UserId: "nobody"}, {UserId: "ann", After: []string{last}},
			{}, {UserId: "ann", PageSize: 1001}, {UserId: "ann", PageToken: "x"}, {UserId: "ann", After: []string{"x"}},
		} {
			got := asked(local.GetInbox(ctx, proto.CloneOf(m)))
			if want := overHTTP(remote.GetInbox(ctx, connect.NewRequest(m))); got != want {
				t.Errorf("%d nodes, GetInbox %v: %q, over HTTP %q", nodes, m, got, want)
			}
		}
		for _, m := range []*queryv1.GetUnreadRequest{
			{UserId: "ann", ChannelId: "channel-1"}, {UserId: "ann", ChannelId: "channel-2", After: []string{last}},
			{UserId: "ann", ChannelId: "none"}, {UserId: "ann"}, {UserId: "a\x00", ChannelId: "channel-1"},
		} {
			got := asked(local.GetUnread(ctx, proto.CloneOf(m)))
			if want := overHTTP(remote.GetUnread(ctx, connect.NewRequest(m))); got != want {
				t.Errorf("%d nodes, GetUnread %v: %q, over HTTP %q", nodes, m, got, want)
			}
		}
		for _, m := range []*queryv1.GetReadersRequest{{ChannelId: "channel-1"}, {ChannelId: "channel-1", PageSize: 1}, {ChannelId: "none"}, {}} {
			got := asked(local.GetReaders(ctx, proto.CloneOf(m)))
			if want := overHTTP(remote.GetReaders(ctx, connect.NewRequest(m))); got != want {
				t.Errorf("%d nodes, GetReaders %v: %q, over HTTP %q", nodes, m, got, want)
			}
		}
		for _, m := range []*queryv1.GetThreadsRequest{{UserId: "ann"}, {}} {
			got := asked(local.GetThreads(ctx, proto.CloneOf(m)))
			if want := overHTTP(remote.GetThreads(ctx, connect.NewRequest(m))); got != want {
				t.Errorf("%d nodes, GetThreads %v: %q, over HTTP %q", nodes, m, got, want)
			}
		}
	}
}

// A panic ends one call with the code internal, without details. The log has it once, and the call
// is counted.
func TestLocalPanic(t *testing.T) {
	var log lockedBuffer
	registry := prometheus.NewRegistry()
	c := newCluster(t, 1, 1, func(cfg *Config) {
		cfg.Logger = slog.New(slog.NewJSONHandler(&log, nil))
		cfg.planted = func(int32) { panic("planted") }
	})
	cfg := c.nodes[0].cfg
	cfg.Registerer = registry
	l := NewLocal(cfg)
	c.join("c", "ann")
	_, err := l.GetInbox(t.Context(), &queryv1.GetInboxRequest{UserId: "ann"})
	if connect.CodeOf(err) != connect.CodeInternal || strings.Contains(err.Error(), "planted") {
		t.Errorf("%v", err)
	}
	if n := strings.Count(log.String(), "panic while answering"); n != 1 {
		t.Errorf("%d lines about one panic: %s", n, &log)
	}
	if n := gathered(t, registry)["tidemark_query_calls_total internal GetInbox"]; n != 1 {
		t.Errorf("counted %v times", n)
	}
}

// With keys the identity in the context decides, as the identity of a token does over HTTP.
func TestLocalAuthorizes(t *testing.T) {
	c := newCluster(t, 2, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	c.join("general", "ann", "bob")
	l := NewLocal(c.nodes[0].cfg)
	as := func(id auth.Identity) context.Context { return auth.WithIdentity(t.Context(), id) }
	ann := as(auth.Identity{Subject: "ann"})
	of := func(user string) *queryv1.GetUnreadRequest {
		return &queryv1.GetUnreadRequest{UserId: user, ChannelId: "general"}
	}
	_, err := l.GetUnread(t.Context(), of("ann"))
	wantCode(t, "nobody", err, connect.CodeUnauthenticated)
	_, err = l.GetUnread(ann, of("bob"))
	wantCode(t, "ann about bob", err, connect.CodePermissionDenied)
	if _, err := l.GetUnread(ann, of("ann")); err != nil {
		t.Errorf("ann about herself: %v", err)
	}
	_, err = l.GetUnread(as(auth.Identity{Subject: "eve"}), &queryv1.GetUnreadRequest{ChannelId: "general"})
	wantCode(t, "eve, who is no member", err, connect.CodeNotFound)
	if _, err := l.GetUnread(as(auth.Identity{Subject: "s", Scopes: auth.ScopeRead}), of("bob")); err != nil {
		t.Errorf("a service: %v", err)
	}
}

// A caller that gives up gets canceled, or deadline_exceeded, as over the network.
func TestLocalOfOneWhoGivesUp(t *testing.T) {
	c := newCluster(t, 1, 1)
	c.join("general", "ann")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	after := []string{"chat.messages/0/1000"}
	_, err := NewLocal(c.nodes[0].cfg).GetUnread(ctx, &queryv1.GetUnreadRequest{UserId: "ann", ChannelId: "general", After: after})
	wantCode(t, "a wait that was given up", err, connect.CodeCanceled)
	for want, err := range map[connect.Code]error{
		connect.CodeDeadlineExceeded: fmt.Errorf("reading: %w", context.DeadlineExceeded), connect.CodeUnknown: io.ErrUnexpectedEOF,
	} {
		wantCode(t, err.Error(), wireError(err), want)
	}
}

// BenchmarkLocal compares the costs of a page of an inbox within this process: through Local, and
// through the handler with a request that is encoded and decoded in memory.
func BenchmarkLocal(b *testing.B) {
	c := newCluster(b, 4, 1)
	for i := range 1000 {
		ch := fmt.Sprintf("channel-%06d", i)
		c.join(ch, "ann", "bob")
		c.post(ch, "m", "bob")
	}
	cfg := c.nodes[0].cfg
	local := NewLocal(cfg)
	client := queryv1connect.NewQueryServiceClient(&http.Client{Transport: inMemory{Handler(cfg)}}, "http://this.node")
	for _, size := range []uint32{1, 1000} {
		m := &queryv1.GetInboxRequest{UserId: "ann", PageSize: size}
		check := func(b *testing.B, res *queryv1.GetInboxResponse, err error) {
			if err != nil || len(res.Channels) != int(size) {
				b.Fatal(len(res.GetChannels()), err)
			}
		}
		b.Run(fmt.Sprintf("Local, page of %d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := local.GetInbox(b.Context(), m)
				check(b, res, err)
			}
		})
		b.Run(fmt.Sprintf("HTTP in memory, page of %d", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := client.GetInbox(b.Context(), connect.NewRequest(m))
				if err != nil {
					b.Fatal(err)
				}
				check(b, res.Msg, nil)
			}
		})
	}
}

// inMemory calls a handler without a network.
type inMemory struct{ handler http.Handler }

func (t inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	w := &httptest.ResponseRecorder{Body: &bytes.Buffer{}, Code: http.StatusOK}
	t.handler.ServeHTTP(w, in)
	return w.Result(), nil
}
