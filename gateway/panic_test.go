package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
	"github.com/tidemark/tidemark/internal/test/remote"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// bugs panic once at each armed place.
type bugs struct {
	mu    sync.Mutex
	armed map[string]bool
}

func (b *bugs) arm(places ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.armed = map[string]bool{}
	for _, p := range places {
		b.armed[p] = true
	}
}

func (b *bugs) at(place string) {
	b.mu.Lock()
	armed := b.armed[place]
	delete(b.armed, place)
	b.mu.Unlock()
	if armed {
		panic("planted at " + place)
	}
}

func (b *bugs) left() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.armed)
}

// panicking is a gateway with bugs, whose queries go to the first of some nodes.
type panicking struct {
	*testing.T
	gw *gateway.Gateway
	bugs
	url, ingest string
	log         atomic.Pointer[testkit.Output]
	posts       int
	ann, bob    *client
}

// newPanicking starts the nodes, and the gateway beside them.
func newPanicking(t *testing.T, nodes int) *panicking {
	t.Helper()
	env := testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + testkit.Miniredis(t).Addr()}
	topics := env.Topics(t, 6)
	c := node.Config{
		Roles: config.Roles{config.RoleProcessor, config.RoleQuery}, Kafka: config.Kafka{Brokers: env.Brokers, Options: testkit.FastClientOpts()},
		Group: testkit.UniqueName(t, "nodes"), Settings: projections.DefaultSettings(), Logger: slog.New(slog.DiscardHandler),
	}
	for i, name := range events.InputTopics {
		c.Topics.Inputs[i] = topics.Name(name)
	}
	c.Topics.Unread, c.Topics.Channels = topics.Name(events.TopicUnread), topics.Name(events.TopicChannels)
	c.Topics.Receipts, c.Topics.DeadLetters = topics.Name(events.TopicReceipts), topics.Name(events.TopicDeadLetters)
	var urls []string
	for range nodes {
		urls = append(urls, runNode(t, c))
	}
	live := func() int {
		total := 0
		for _, u := range urls {
			if res, err := http.Get(u + "/readyz"); err == nil { //nolint:noctx // a test's own server
				body, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if n := strings.Count(string(body), " live"); n == 0 {
					return 0 // each node must have some
				} else if res.StatusCode == http.StatusOK {
					total += n
				}
			}
		}
		return total
	}
	testkit.Await(t, "all partitions are live", func() bool { return live() == 6 })

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p := &panicking{T: t, ingest: urls[len(urls)-1]}
	p.log.Store(&testkit.Output{})
	gc := gateway.Config{
		Brokers: env.Brokers, ClientOptions: testkit.FastClientOpts(), Partitions: 6,
		Topics: gateway.Topics{
			Messages: c.Topics.Inputs[events.Messages], Reads: c.Topics.Inputs[events.Reads], Deliveries: c.Topics.Inputs[events.Deliveries],
			Unread: c.Topics.Unread, Channels: c.Topics.Channels, Receipts: c.Topics.Receipts,
		},
		Query:         remote.At(&http.Client{Transport: transport}, urls[0]),
		Producer:      testkit.Client(t, env.Brokers, append(testkit.FastClientOpts(), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))...),
		ReceiptsEvery: time.Millisecond, Limits: boundless,
		Logger: slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) { return p.log.Load().Write(b) }), nil)),
	}
	gc.Plant(p.at)
	var err error
	if p.gw, err = gateway.New(gc); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/socket", p.gw)
	server := httptest.NewServer(httpguard.Handler(gc.Logger, mux))
	p.url = server.URL
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = p.gw.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done; server.Close() })
	testkit.Await(t, "the gateway is ready", func() bool { ok, _ := p.gw.Ready(); return ok })
	return p
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// runNode runs a node until the test ends, and returns its address.
func runNode(t *testing.T, c node.Config) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.DataDir, c.Listener, c.Advertise = t.TempDir(), ln, "http://"+ln.Addr().String()
	n, err := node.New(within(t), c)
	if err != nil {
		t.Fatal(errors.Join(err, ln.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return c.Advertise
}

// post writes a message into the channel of both.
func (p *panicking) post() {
	p.Helper()
	p.posts++
	emit(p.T, p.ingest, posted("general", fmt.Sprint("m", p.posts), "zoe"))
}

// knows reads until a device has got the current unread counts, in the channel and in total. If the
// device's connection has ended, another one must get them.
func (p *panicking) knows(c **client, user string) {
	p.Helper()
	ok := func(f frame) bool {
		n := f.number("unread")
		if f["type"] == "inbox" {
			for _, ch := range f.list("channels") {
				if ch := frame(ch.(map[string]any)); ch.text("channel_id") == "general" {
					n = ch.number("unread")
				}
			}
		} else if !f.is("unread.updated", "general") || f["thread_id"] != nil {
			return false
		}
		return n == p.posts && f.number("totals.unread") == p.posts+1
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		for ; (*c).read < len((*c).seen); (*c).read++ {
			if ok((*c).seen[(*c).read]) {
				return
			}
		}
		b, err := (*c).receive()
		if err != nil {
			*c = dialed(p.T, p.url, user)
			(*c).read = 0
			continue
		}
		(*c).note(b)
	}
	p.Fatalf("%s has not been told of %d unread: %v; %s", user, p.posts, (*c).seen, p.log.Load())
}

// TestPanicEndsOneConnection: wherever the gateway panics, in the answer to a frame, in an event
// that it writes, in a connection or in reading the topics, that answer, connection or session
// fails with an explanation. Afterwards all devices get the right values, no lock and no connection
// slot stays taken, no goroutine remains, and no total is wrong.
func TestPanicEndsOneConnection(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		if nodes > 1 && testing.Short() {
			continue
		}
		t.Run(fmt.Sprint(nodes), func(t *testing.T) { panicsEndOne(newPanicking(t, nodes)) })
	}
}

func panicsEndOne(p *panicking) {
	emit(p.T, p.ingest, joined("general", "ann", "bob"), joined("other", "ann", "bob"), posted("other", "o1", "zoe"))
	p.ann, p.bob = dialed(p.T, p.url, "ann"), dialed(p.T, p.url, "bob")
	p.post()
	p.knows(&p.ann, "ann")
	p.knows(&p.bob, "bob")
	refused := func(kind, fields string) func() {
		return func() {
			if f := p.ann.do(kind, fields); f["type"] != "error" || f["code"] != "internal" || strings.Contains(fmt.Sprint(f), "planted") {
				p.Errorf("%s with a bug: %v, want internal and nothing of the bug", kind, f)
			}
			if f := p.ann.do(kind, fields); f["type"] == "error" {
				p.Errorf("%s after a bug: %v", kind, f)
			}
		}
	}
	general := `"channel_id":"general"`
	cases := []struct {
		name   string
		places []string
		meets  func()
	}{
		{"a frame", []string{"frame"}, refused("channel.blur", general)},
		{"a frame, with the lock", []string{"focus"}, func() {
			refused("channel.focus", general)()
			p.ann.do("channel.blur", general) // otherwise the gateway reads new messages for her
		}},
		{"a question to the owner", []string{"read_state"}, refused("read_state", general)},
		{"an event that is written", []string{"produce"}, refused("mark_unread", general+`,"message_id":"m1"`)},
		{"a delta", []string{"delta"}, p.post},
		{"a channel's record", []string{"channel"}, p.post},
		{"a message", []string{"message"}, p.post},
		{"a thread", []string{"thread"}, func() {
			p.ann.do("thread.follow", `"channel_id":"other","thread_id":"o1"`)
			emit(p.T, p.ingest, `{"message":{"channel_id":"other","message_posted":{"message_id":"r`+fmt.Sprint(p.posts)+`","sender_id":"zoe","thread_id":"o1"}}}`)
		}},
		{"receipts", []string{"receipts"}, func() {
			emit(p.T, p.ingest, `{"delivery":{"channel_id":"general","user_id":"bob","delivered":{"message_id":"m`+fmt.Sprint(p.posts)+`"}}}`)
		}},
		{"a session that begins", []string{"delta", "begin"}, p.post},
		{"an inbox", []string{"install"}, func() { p.ann.send(`{"type":"sync"}`) }},
		{"the writing", []string{"write"}, p.post},
		{"a connection", []string{"serve"}, func() {
			if code := dial(p.T, p.url+"/v1/socket?user_id=ann", nil).closed(); code > 0 {
				p.Errorf("a connection with a bug is closed with %d", code)
			}
		}},
		{"the accepting of a connection", []string{"accept"}, func() {
			dial(p.T, p.url+"/v1/socket?user_id=ann", nil).closed()
		}},
	}
	round := func() {
		for _, c := range cases {
			p.log.Store(&testkit.Output{})
			p.arm(c.places...)
			c.meets()
			testkit.Await(p.T, "the bug shows: "+c.name, func() bool { return p.left() == 0 })
			for _, place := range c.places {
				p.log.Load().Await(p.T, "planted at "+place)
			}
			testkit.Await(p.T, "the feed goes on: "+c.name, func() bool { ok, _ := p.gw.Ready(); return ok })
			p.post()
			p.knows(&p.ann, "ann")
			p.knows(&p.bob, "bob")
			if n := strings.Count(p.log.Load().String(), "[running]"); n != len(c.places) {
				p.Errorf("%s: %d stacks in the log, want %d: %s", c.name, n, len(c.places), p.log.Load())
			}
			testkit.Await(p.T, "no lock is held: "+c.name, func() bool { return p.gw.Locked() == "" })
			testkit.Await(p.T, "places are given back: "+c.name, func() bool { return p.gw.Connections() == 2 })
			if wrong := p.gw.Wrong(); wrong != "" {
				p.Errorf("%s: totals are wrong: %s", c.name, wrong)
			}
		}
	}
	round()
	if testing.Short() {
		return
	}
	before := runtime.NumGoroutine()
	round()
	testkit.Await(p.T, "goroutines are as before", func() bool { return runtime.NumGoroutine() <= before+10 })
}
