package query

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// protocols returns clients that speak each of the protocols with a node.
func protocols(url string) map[string]queryv1connect.QueryServiceClient {
	h2c := &http.Client{Transport: PeerTransport(nil)}
	return map[string]queryv1connect.QueryServiceClient{
		"JSON":     queryv1connect.NewQueryServiceClient(http.DefaultClient, url, connect.WithProtoJSON()),
		"GET":      queryv1connect.NewQueryServiceClient(http.DefaultClient, url, connect.WithHTTPGet()),
		"gRPC":     queryv1connect.NewQueryServiceClient(h2c, url, connect.WithGRPC()),
		"gRPC-Web": queryv1connect.NewQueryServiceClient(http.DefaultClient, url, connect.WithGRPCWeb()),
	}
}

// No forged token gets in, through any protocol, for calls, streams and events. All are refused
// with the same words, which do not help to make a better one.
func TestForgedTokens(t *testing.T) {
	c := newCluster(t, 2, 2, func(c *Config) { c.Verifier = authtest.VerifierOfTwo(t) })
	c.join("general", "ann")
	url := c.nodes[0].srv.URL
	ask := func(q queryv1connect.QueryServiceClient, token string) error {
		_, err := q.GetUnread(t.Context(), called(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: "general"}, token))
		return err
	}
	watch := func(q queryv1connect.QueryServiceClient, token string) error {
		stream, err := q.WatchUnread(t.Context(), called(&queryv1.WatchUnreadRequest{UserId: "ann"}, token))
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		if stream.Receive() {
			return nil
		}
		return stream.Err()
	}
	for name, q := range protocols(url) {
		if err := ask(q, authtest.Token(t, "ann", time.Hour)); err != nil {
			t.Errorf("%s, a good token: %v", name, err)
		}
		if err := watch(q, authtest.Token(t, "ann", time.Hour)); err != nil {
			t.Errorf("%s, a stream with a good token: %v", name, err)
		}
		for attack, token := range authtest.Forged(t) {
			for what, err := range map[string]error{"call": ask(q, token), "stream": watch(q, token)} {
				wantCode(t, name+", "+what+", "+attack, err, connect.CodeUnauthenticated)
				if err != nil && !strings.HasSuffix(err.Error(), "the token is not valid") {
					t.Errorf("%s, %s, %s: %v", name, what, attack, err)
				}
			}
		}
	}
}

// Only services publish events: neither forged tokens nor users may.
func TestForgedTokensPublishNothing(t *testing.T) {
	_, producer := newBroker(t)
	srv := serve(t, Handler(Config{Node: noNode{}, Producer: producer, Verifier: authtest.VerifierOfTwo(t), Logger: slog.New(slog.DiscardHandler)}))
	client := ingestv1connect.NewIngestServiceClient(srv.Client(), srv.URL)
	publish := func(token string) error {
		_, err := client.Publish(t.Context(), called(&ingestv1.PublishRequest{}, token))
		return err
	}
	for attack, token := range authtest.Forged(t) {
		wantCode(t, attack, publish(token), connect.CodeUnauthenticated)
		_, err := client.MarkAllRead(t.Context(), called(&ingestv1.MarkAllReadRequest{UserId: "ann"}, token))
		wantCode(t, "MarkAllRead, "+attack, err, connect.CodeUnauthenticated)
	}
	wantCode(t, "a user", publish(authtest.Token(t, "ann", time.Hour)), connect.CodePermissionDenied)
	if err := publish(authtest.Service(t)); connect.CodeOf(err) == connect.CodeUnauthenticated || connect.CodeOf(err) == connect.CodePermissionDenied {
		t.Errorf("a service: %v", err)
	}
}

// For a guessed channel name, the answer is the same whether the channel exists or not, for every
// method with a channel and every protocol, byte for byte.
func TestGuessingChannels(t *testing.T) {
	c := newCluster(t, 4, 2, func(c *Config) { c.Verifier = authtest.Verifier(t) })
	ann := authtest.Token(t, "ann", time.Hour)
	theirs, nobodys := c.channelOn("theirs", 3), c.channelOn("nobodys", 3)
	c.join(theirs, "bob", "cleo")
	c.post(theirs, "m1", "bob")
	for _, n := range c.nodes {
		for name, q := range protocols(n.srv.URL) {
			for method, call := range map[string]func(channel string) error{
				"GetUnread": func(ch string) error {
					_, err := q.GetUnread(t.Context(), called(&queryv1.GetUnreadRequest{ChannelId: ch}, ann))
					return err
				},
				"ExplainUnread": func(ch string) error {
					_, err := q.ExplainUnread(t.Context(), called(&queryv1.ExplainUnreadRequest{ChannelId: ch}, ann))
					return err
				},
				"GetChannel": func(ch string) error {
					_, err := q.GetChannel(t.Context(), called(&queryv1.GetChannelRequest{ChannelId: ch}, ann))
					return err
				},
				"GetReaders": func(ch string) error {
					_, err := q.GetReaders(t.Context(), called(&queryv1.GetReadersRequest{ChannelId: ch}, ann))
					return err
				},
				"GetReceipts": func(ch string) error {
					_, err := q.GetReceipts(t.Context(), called(&queryv1.GetReceiptsRequest{ChannelId: ch, MessageId: "m1"}, ann))
					return err
				},
				"GetReceipts of a message that is not there": func(ch string) error {
					_, err := q.GetReceipts(t.Context(), called(&queryv1.GetReceiptsRequest{ChannelId: ch, MessageId: "m9"}, ann))
					return err
				},
			} {
				there, missing := call(theirs), call(nobodys)
				wantCode(t, name+", "+method, there, connect.CodeNotFound)
				wantCode(t, name+", "+method, missing, connect.CodeNotFound)
				if there != nil && missing != nil && strings.ReplaceAll(there.Error(), theirs, "X") != strings.ReplaceAll(missing.Error(), nobodys, "X") {
					t.Errorf("%s, %s tells one from the other: %q, %q", name, method, there, missing)
				}
			}
		}
	}
}

// A request that is small on the wire and huge when decompressed is refused at the limit of the
// decompressed size.
func TestACompressedBombIsRefused(t *testing.T) {
	srv := serve(t, Handler(Config{Node: noNode{}}))
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = w.Write(bytes.Repeat([]byte{' '}, 1<<20))
	}
	_ = w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/tidemark.query.v1.QueryService/GetUnread", &bomb)
	if err != nil {
		t.Fatal(err)
	}
	if bomb.Len() > maxQueryBody {
		t.Fatalf("the bomb has %d bytes: it does not get past the front door", bomb.Len())
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Content-Encoding", "gzip")
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), "resource_exhausted") {
		t.Errorf("64 MiB in a few: %d %s", res.StatusCode, body)
	}
}

// A request whose headers come slowly, or whose body never comes, holds no resource forever.
func TestRequestsThatDrip(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.Config = edge.NewServer(Handler(Config{Node: noNode{}, bodyTimeout: 200 * time.Millisecond}))
	srv.Config.ReadHeaderTimeout /= 25
	srv.Start()
	t.Cleanup(srv.Close)
	for name, begun := range map[string]string{
		"headers": "POST /tidemark.query.v1.QueryService/GetUnread HTTP/1.1\r\nHost: x\r\nX-Drip: ",
		"body":    "POST /tidemark.query.v1.QueryService/GetUnread HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
	} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, begun); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); err != nil { // the other side ends it
			t.Errorf("%s: %v", name, err)
		}
	}
}
