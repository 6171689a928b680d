package query

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
)

const patience = 2 * time.Minute

// refusals counts tidemark_query_refused_total by reason.
func refusals(t testing.TB, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "tidemark_query_refused_total" && f.GetType() == dto.MetricType_COUNTER {
			for _, m := range f.Metric {
				out[m.Label[0].GetValue()] = m.Counter.GetValue()
			}
		}
	}
	return out
}

// wantLimit fails unless err is a temporary refusal that states its duration, in a header and as
// RetryInfo.
func wantLimit(t testing.TB, what string, err error, code connect.Code, text string) {
	t.Helper()
	var ce *connect.Error
	if !errors.As(err, &ce) || ce.Code() != code || !strings.Contains(ce.Message(), text) {
		t.Errorf("%s: %v, want %s … %s", what, err, code, text)
		return
	}
	if ce.Meta().Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After in %v", what, ce.Meta())
	}
	for _, d := range ce.Details() {
		if v, err := d.Value(); err == nil {
			if info, is := v.(*errdetails.RetryInfo); is && info.RetryDelay.AsDuration() > 0 {
				return
			}
		}
	}
	t.Errorf("%s: no RetryInfo in %v", what, ce.Details())
}

// A user and an address have limited rates of calls. A service's calls count only for its address.
// Calls that another node forwards count at that node. Queries and publishes count together.
func TestRatesOfUsersAndAddresses(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, producer := newBroker(t)
	nodes := 0
	limits := Limits{UserRate: 0.001, UserBurst: 3, AddressRate: 0.001, AddressBurst: 21}
	c := newCluster(t, 2, 2, func(c *Config) {
		c.Verifier, c.Producer = authtest.Verifier(t), producer
		if nodes++; nodes == 1 {
			c.Limits, c.Registerer = limits, registry
		} else { // only the first node asks it
			c.Limits = Limits{UserRate: 0.001, UserBurst: 1, AddressRate: 0.001, AddressBurst: 1}
		}
	})
	c.join(c.channelOn("there", 1), "ann", "bob")
	ask := func(token string) error { // the other node has the answer
		_, err := c.nodes[0].query.GetInbox(t.Context(), called(&queryv1.GetInboxRequest{UserId: "ann"}, token))
		return err
	}
	publish := func(token string) error { // an empty call, which writes nothing
		_, err := ingestv1connect.NewIngestServiceClient(c.nodes[0].srv.Client(), c.nodes[0].srv.URL).Publish(t.Context(), called(&ingestv1.PublishRequest{}, token))
		return err
	}
	ann, bob := authtest.Token(t, "ann", time.Hour), authtest.Token(t, "bob", time.Hour)
	for i := range 3 {
		if err := ask(ann); err != nil {
			t.Fatalf("call %d of 3: %v", i+1, err)
		}
	}
	wantLimit(t, "ann's fourth call", ask(ann), connect.CodeResourceExhausted, "this user makes too many calls")
	if err := publish(ann); connect.CodeOf(err) != connect.CodePermissionDenied { // so no user's rate includes publishing
		t.Errorf("ann, a user, publishes: %v", err)
	}
	if err := ask(bob); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("bob, who is not ann: %v", err)
	}
	for i := range 10 {
		if err := ask(authtest.Service(t)); err != nil {
			t.Fatalf("call %d of a service: %v", i+1, err)
		}
	}
	var err error
	for range 6 { // a forged token counts too: checking it costs as much
		err = ask("e30.e30.e30")
	}
	wantLimit(t, "one address", err, connect.CodeResourceExhausted, "this address makes too many calls")
	wantLimit(t, "a service there", ask(authtest.Service(t)), connect.CodeResourceExhausted, "this address makes too many calls")
	wantLimit(t, "a publish there", publish(authtest.Service(t)), connect.CodeResourceExhausted, "this address makes too many calls")
	got := refusals(t, registry)
	if got["user_rate"] != 1 || got["address_rate"] != 3 || got["token"] != 5 {
		t.Errorf("counted as %v", got)
	}
}

// The number of pending calls is limited for a user, and the number that wait for an `after` is
// limited for the node.
func TestCallsUnderWayAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := newCluster(t, 1, 1, func(c *Config) {
		c.Verifier, c.Registerer, c.Limits = authtest.Verifier(t), registry, Limits{UserConcurrency: 2, Waits: 3}
	})
	c.join("general", "ann", "bob", "cleo")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := func(user string, after ...string) error {
		_, err := c.nodes[0].query.GetUnread(ctx, called(&queryv1.GetUnreadRequest{ChannelId: "general", After: after}, authtest.Token(t, user, time.Hour)))
		return err
	}
	const never = "chat.reads/0/999999"
	var waiting sync.WaitGroup
	wait := func(user string) { // until it is cut off; a call that came too early is repeated
		waiting.Go(func() {
			for connect.CodeOf(call(user, never)) == connect.CodeResourceExhausted {
			}
		})
	}
	wait("ann")
	wait("ann")
	until(t, "ann has two calls under way", func() bool { return connect.CodeOf(call("ann")) == connect.CodeResourceExhausted })
	wantLimit(t, "ann's third", call("ann"), connect.CodeResourceExhausted, "as many calls under way as one may have")
	if err := call("bob"); err != nil {
		t.Errorf("bob: %v", err)
	}
	wait("bob")
	until(t, "three calls wait", func() bool { return connect.CodeOf(call("cleo", "chat.messages/0/0")) == connect.CodeResourceExhausted })
	wantLimit(t, "a fourth that waits", call("cleo", "chat.messages/0/0"), connect.CodeResourceExhausted, "too many calls wait on this node")
	if err := call("cleo"); err != nil {
		t.Errorf("a call that waits for nothing: %v", err)
	}
	cancel()
	waiting.Wait()
	ctx = t.Context()
	until(t, "all is given back", func() bool { return call("ann", "chat.messages/0/0") == nil })
	if got := refusals(t, registry); got["user_concurrency"] < 2 || got["waits"] < 2 {
		t.Errorf("counted as %v", got)
	}
}

// The number of pending calls is limited for an address, whatever their tokens, over both services.
// Streams do not count, and neither do calls that another node forwards. A call that is refused for
// another reason takes no slot.
func TestCallsOfAnAddressAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	_, producer := newBroker(t)
	nodes := 0
	c := newCluster(t, 2, 2, func(c *Config) {
		c.Verifier, c.Producer = authtest.Verifier(t), producer
		if nodes++; nodes == 1 {
			c.Limits, c.Registerer = Limits{AddressConcurrency: 2}, registry
		} else { // only the first node asks it
			c.Limits = Limits{AddressConcurrency: 1}
		}
	})
	there := c.channelOn("there", 1)
	c.join(there, "ann")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := func(token string, after ...string) error {
		_, err := c.nodes[0].query.GetUnread(ctx, called(&queryv1.GetUnreadRequest{UserId: "ann", ChannelId: there, After: after}, token))
		return err
	}
	ann, service := authtest.Token(t, "ann", time.Hour), authtest.Service(t)
	for range 5 {
		if err := call("e30.e30.e30"); connect.CodeOf(err) != connect.CodeUnauthenticated {
			t.Errorf("a forged token: %v", err)
		}
		if err := call(ann); err != nil {
			t.Errorf("a call after refused ones: %v", err)
		}
	}
	var waiting sync.WaitGroup
	for range 2 { // until it is cut off; a call that came too early is repeated
		waiting.Go(func() {
			for connect.CodeOf(call(service, "chat.messages/1/999999")) == connect.CodeResourceExhausted {
			}
		})
	}
	until(t, "the address has two calls under way", func() bool { return connect.CodeOf(call(ann)) == connect.CodeResourceExhausted })
	const says = "this address has as many calls under way as one may have"
	wantLimit(t, "a query", call(ann), connect.CodeResourceExhausted, says)
	_, err := ingestv1connect.NewIngestServiceClient(c.nodes[0].srv.Client(), c.nodes[0].srv.URL).Publish(ctx, called(&ingestv1.PublishRequest{}, service))
	wantLimit(t, "a publish", err, connect.CodeResourceExhausted, says)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := c.nodes[0].query.WatchUnread(watching, called(&queryv1.WatchUnreadRequest{UserId: "ann"}, ann))
	if err != nil || !stream.Receive() {
		t.Errorf("a stream: %v, %v", err, stream.Err())
	}
	cancel()
	waiting.Wait()
	ctx = t.Context()
	until(t, "all is given back", func() bool { return call(ann) == nil })
	if got := refusals(t, registry); got["address_concurrency"] < 3 || got["address_rate"] != 0 {
		t.Errorf("counted as %v", got)
	}
}

// until waits until a condition holds.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it is not so that %s", what)
		}
	}
}

// Large bodies that never end fill the memory for bodies, and no more. Small bodies are not
// affected. A body that is announced and does not come takes nothing.
func TestBodiesInMemoryAreBounded(t *testing.T) {
	registry := prometheus.NewRegistry()
	c := newCluster(t, 1, 1, func(c *Config) { c.Registerer, c.Limits = registry, Limits{Bodies: 1} }) // the minimum: one query of 1 MiB
	c.join("general", "ann")
	addr := c.nodes[0].srv.Listener.Addr().String()
	hold := func(sent int) net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST /tidemark.query.v1.QueryService/GetUnread HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", maxQueryBody)
		if _, err := io.WriteString(conn, strings.Repeat(" ", sent)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	ask := func(padding int) (int, string) {
		body := `{"user_id":"ann","channel_id":"general"}` + strings.Repeat(" ", padding)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.nodes[0].srv.URL+"/tidemark.query.v1.QueryService/GetUnread", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		return do(t, c.nodes[0].srv.Client(), req)
	}
	for range 20 {
		hold(100)
	}
	if status, got := ask(100 << 10); status != http.StatusOK {
		t.Errorf("beside 20 who announce 1 MiB and send nothing: %d %s", status, got)
	}
	var full net.Conn
	until(t, "the memory for bodies is taken", func() bool {
		full = hold(maxQueryBody - 1) // refused if another query has the rest for too long
		for tries, refused := 0, 0; tries < 30; tries++ {
			if status, _ := ask(100 << 10); status != http.StatusServiceUnavailable {
				refused = 0
			} else if refused++; refused == 2 { // by now full would have been refused, too
				return true
			}
			time.Sleep(50 * time.Millisecond)
		}
		full.Close()
		return false
	})
	if status, got := ask(100 << 10); status != http.StatusServiceUnavailable || !strings.Contains(got, "too many requests in memory") ||
		!strings.Contains(got, "google.rpc.RetryInfo") {
		t.Errorf("a large body: %d %s", status, got)
	}
	if status, got := ask(0); status != http.StatusOK {
		t.Errorf("a small body: %d %s", status, got)
	}
	full.Close()
	until(t, "the memory is given back", func() bool { status, _ := ask(100 << 10); return status == http.StatusOK })
	if got := refusals(t, registry); got["bodies"] < 2 {
		t.Errorf("counted as %v", got)
	}
}
