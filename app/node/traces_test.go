package node_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/twmb/franz-go/pkg/kgo"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlppb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/internal/trace/otlp"
)

// The traces of these tests, as a producer writes them.
const (
	theTrace   = "4bf92f3577b34da6a3ce929d0e0e4736"
	recorded   = "00-" + theTrace + "-00f067aa0ba902b7-01"
	unrecorded = "00-" + theTrace + "-00f067aa0ba902b7-00"
)

// collecting is a collector of spans.
type collecting struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*otlppb.Span
}

func newCollecting(t *testing.T) *collecting {
	c := &collecting{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &req)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, of := range req.ResourceSpans {
			for _, s := range of.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// ways returns, for each span of the test's trace, the names from the producer's span down to it.
func (c *collecting) ways() (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byID := map[string]*otlppb.Span{}
	for _, s := range c.spans {
		byID[string(s.SpanId)] = s
	}
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) != theTrace {
			continue
		}
		way := []string{}
		for at := s; at != nil; at = byID[string(at.ParentSpanId)] {
			way = append(way, at.Name[strings.LastIndex(at.Name, "/")+1:])
		}
		slices.Reverse(way)
		list = append(list, strings.Join(way, " > "))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// headersOf returns the traceparents of all records of a topic.
func headersOf(t *testing.T, env testkit.Env, topic string) (list []string) {
	cl := testkit.Client(t, env.Brokers, append(testkit.FastClientOpts(), kgo.ConsumeTopics(topic))...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			for _, h := range r.Headers {
				list = append(list, h.Key+" "+string(h.Value))
			}
		})
	}
	return list
}

// traced is a node that owns all partitions, one that forwards to it, and a socket of ann's at the
// first.
func traced(t *testing.T, traces otlp.Config) (env testkit.Env, topics testkit.TopicSet, owner, other *running, frame func(string)) {
	env = testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics = env.Topics(t, 1)
	group := testkit.UniqueName(t, "node")
	c := options(t, env, topics, group, all()...)
	c.Roles = append(c.Roles, config.RoleGateway)
	c.Traces = traces
	owner = run(t, c)
	c = options(t, env, topics, group, config.RoleQuery)
	c.Traces = traces
	other = run(t, c)
	awaitReady(t, owner, 1)
	wantUnread(t, other, "ann", publish(t, owner, joined), 0)
	ws, _, err := websocket.Dial(within(t), owner.url+"/v1/socket?user_id=ann", nil) //nolint:bodyclose // it is the socket's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	frame = func(kind string) {
		for {
			_, b, err := ws.Read(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), `"type":"`+kind+`"`) {
				return
			}
		}
	}
	frame("inbox")
	return env, topics, owner, other, frame
}

// One trace goes from the call that publishes, through the fold, the delta and the cache, to the
// socket; and from a query, over the node that was asked, to the owner.
func TestATraceFromPublishToSocket(t *testing.T) {
	to := newCollecting(t)
	_, _, owner, other, frame := traced(t, otlp.Config{Endpoint: to.URL, Every: 50 * time.Millisecond})
	calls := func(path, body string) {
		t.Helper()
		if status, text := asked(t, http.DefaultClient, other.url+path, "", body, trace.Header, recorded); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
	}
	calls(publishTo, `{"events":[`+first+`]}`)
	frame("unread.updated")
	calls(getUnread, `{"user_id":"ann","channel_id":"general"}`)
	want := []string{
		"Publish", "Publish > fold message_posted", "Publish > fold message_posted > publish",
		"Publish > fold message_posted > publish > write to Redis", "Publish > fold message_posted > publish > send to a socket",
		"GetUnread", "GetUnread > GetUnread", "GetUnread > GetUnread > GetUnread",
	}
	until(t, func() error {
		got := to.ways()
		for _, way := range want {
			if !slices.Contains(got, way) {
				return fmt.Errorf("no span %q among\n%s", way, strings.Join(got, "\n"))
			}
		}
		return nil
	})
	req, err := http.NewRequestWithContext(within(t), http.MethodGet, owner.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	metrics, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tidemark_processor_event_to_badge_seconds", "tidemark_query_seconds", "tidemark_gateway_delta_age_seconds"} {
		if !slices.ContainsFunc(strings.Split(string(metrics), "\n"), func(line string) bool {
			return strings.HasPrefix(line, name+"_bucket") && strings.Contains(line, `# {trace_id="`+theTrace+`"}`)
		}) {
			t.Errorf("no exemplar at %s", name)
		}
	}
}

// Without a collector no record of an output has a header, whatever the inputs carry; with one, a
// trace that its producer does not record gets none.
func TestWithoutACollectorNoRecordHasATrace(t *testing.T) {
	to := newCollecting(t)
	for name, of := range map[string]struct {
		traces otlp.Config
		header string
	}{"off": {otlp.Config{}, recorded}, "not recorded": {otlp.Config{Endpoint: to.URL}, unrecorded}} {
		t.Run(name, func(t *testing.T) {
			env, topics, owner, _, frame := traced(t, of.traces)
			if status, text := asked(t, http.DefaultClient, owner.url+publishTo, "", `{"events":[`+first+`]}`, trace.Header, of.header); status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			cl := testkit.Client(t, env.Brokers, testkit.FastClientOpts()...)
			record := &kgo.Record{Topic: topics.Name(events.TopicReads), Key: []byte("general"), Headers: trace.Headers([]byte(of.header)),
				Value: []byte(`{"channel_id":"general","user_id":"ann","read_up_to":{"seq":1}}`)}
			if err := cl.ProduceSync(within(t), record).FirstErr(); err != nil {
				t.Fatal(err)
			}
			frame("read_pointer.updated")
			for _, topic := range []string{events.TopicUnread, events.TopicChannels, events.TopicReceipts, events.TopicMessages} {
				if list := headersOf(t, env, topics.Name(topic)); len(list) > 0 {
					t.Errorf("%s has the headers %q", topic, list)
				}
			}
			if got := to.ways(); len(got) > 0 {
				t.Errorf("sent were %q", got)
			}
		})
	}
}
