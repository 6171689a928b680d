package node_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/alicebob/miniredis/v2"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/proxy"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// stopBound is the longest time of a stop in any state.
const stopBound = 15 * time.Second

// stopping is a node whose brokers and Redis are behind lines.
type stopping struct {
	t       *testing.T
	env     testkit.Env
	brokers *kfake.Cluster
	store   *miniredis.Miniredis
	kafka   *proxy.Line
	redis   *proxy.Proxy
	config  node.Config
	url     string // of the node that was started last
	written int    // records
}

// TestStopEndsInEveryState: a stop ends in time at any moment, whatever hangs. Clients have
// production timeouts, so that an unanswered request outlasts the stop.
func TestStopEndsInEveryState(t *testing.T) {
	both := func(s *stopping) { s.kafka.Freeze(); s.redis.Freeze() }
	kafka := func(s *stopping) { s.kafka.Freeze() }
	redis := func(s *stopping) { s.redis.Freeze() }
	for _, c := range []struct {
		name         string
		ready, burst bool
		fault        func(*stopping)
		after        time.Duration // from the fault to the stop
		before       bool          // the fault comes before the start
	}{
		{name: "all is well", ready: true, burst: true},
		{name: "Redis hangs", ready: true, fault: redis},
		{name: "Redis hangs, after a burst", ready: true, burst: true, fault: redis},
		{name: "brokers hang", ready: true, fault: kafka},
		{name: "brokers hang, after a burst", ready: true, burst: true, fault: kafka},
		{name: "brokers hang for a while", ready: true, burst: true, fault: kafka, after: 3 * time.Second},
		{name: "brokers hang before they acknowledge what is queued", ready: true, fault: (*stopping).freezeReports},
		{name: "brokers and Redis hang", ready: true, burst: true, fault: both},
		{name: "brokers are gone", ready: true, burst: true, fault: func(s *stopping) { s.kafka.Cut() }},
		{name: "Redis is gone", ready: true, burst: true, fault: func(s *stopping) { s.redis.Cut() }},
		{name: "at once"},
		{name: "0.3 s after a start without a store", after: 300 * time.Millisecond},
		{name: "while it opens and brokers hang", fault: kafka, after: 100 * time.Millisecond},
		{name: "while it opens and Redis hangs", fault: redis, before: true, after: 500 * time.Millisecond},
		{name: "while it opens and both hang", fault: both, after: 300 * time.Millisecond},
		{name: "while Redis is filled", ready: true, burst: true, fault: (*stopping).wipe, after: time.Second},
		{name: "while Redis is filled and hangs", ready: true, burst: true, fault: func(s *stopping) { s.wipe(); s.redis.Freeze() }, after: time.Second},
		{name: "right after a kill", fault: (*stopping).afterAKill, before: true, after: 300 * time.Millisecond},
		{name: "a while after a kill", fault: (*stopping).afterAKill, before: true, after: 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStopping(t)
			if c.before {
				c.fault(s)
			}
			n, run := s.start()
			if c.ready {
				testkit.Await(t, "the node is ready", func() bool { return n.Ready().Ready })
			}
			if c.burst {
				s.write(2000)
			}
			if c.fault != nil && !c.before {
				c.fault(s)
			}
			time.Sleep(c.after) // the state lasts only for a moment
			began := time.Now()
			err := run()
			took := time.Since(began)
			t.Logf("it took %s: %v", took.Round(10*time.Millisecond), err)
			if took > stopBound {
				t.Errorf("the stop took %s, want at most %s", took, stopBound)
			}
			if err != nil {
				t.Errorf("the stop was not in order: %v\n%s", err, goroutines())
			}
			s.kafka.Mend()
			s.redis.Mend()
		})
	}
}

// TestAStoppingNodeAnswers: a node answers calls until its partitions are handed over, which hanging
// brokers delay here. Otherwise nobody would answer calls about them meanwhile.
func TestAStoppingNodeAnswers(t *testing.T) {
	s := newStopping(t)
	n, run := s.start()
	testkit.Await(t, "the node is ready", func() bool { return n.Ready().Ready })
	s.write(2000)
	s.kafka.Freeze()
	done := make(chan error, 1)
	go func() { done <- run() }()
	testkit.Await(t, "the node stops", func() bool { return !n.Ready().Ready })
	time.Sleep(500 * time.Millisecond) // enough to close listeners
	resp, err := http.Get(s.url + "/healthz")
	if err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	select {
	case err := <-done:
		t.Errorf("the node has stopped already, so this shows nothing: %v", err)
	default:
	}
	s.kafka.Mend()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if resp, err := http.Get(s.url + "/healthz"); err == nil {
		resp.Body.Close()
		t.Error("the listener is open after the stop")
	}
}

// goroutines returns the stacks of all goroutines, to show what a stop waits for.
func goroutines() string {
	stacks := make([]byte, 1<<20)
	return string(stacks[:runtime.Stack(stacks, true)])
}

func newStopping(t *testing.T) *stopping {
	t.Helper()
	brokers, store := testkit.FakeKafka(t), testkit.Miniredis(t)
	env := testkit.Env{Brokers: brokers.ListenAddrs(), RedisURL: "redis://" + store.Addr()}
	s := &stopping{t: t, env: env, brokers: brokers, store: store, kafka: proxy.NewLine(t), redis: proxy.New(t, strings.TrimPrefix(env.RedisURL, "redis://"))}
	s.config = options(t, env, env.Topics(t, 4), testkit.UniqueName(t, "stop"), config.RoleProcessor, config.RoleCache, config.RoleQuery, config.RoleGateway)
	s.config.Kafka.Options = []kgo.Opt{kgo.Dialer(s.kafka.Dialer(nil))}
	s.config.Redis.URL = "redis://" + s.redis.Addr()
	return s
}

// start starts the node. The returned run stops the node and waits for the end.
func (s *stopping) start() (n *node.Node, run func() error) {
	s.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.config
	c.Listener, c.Advertise, c.Patience = ln, "http://"+ln.Addr().String(), time.Minute
	if n, err = node.New(within(s.t), c); err != nil {
		ln.Close()
		s.t.Fatal(err)
	}
	s.url = c.Advertise
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	// A client's stream that is open when the node stops.
	streaming, end := context.WithCancel(context.Background())
	s.t.Cleanup(end)
	go func() {
		client := queryv1connect.NewQueryServiceClient(http.DefaultClient, c.Advertise)
		stream, err := client.WatchUnread(streaming, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
		for err == nil && stream.Receive() {
		}
	}()
	return n, func() error { cancel(); return <-done }
}

// wipe empties Redis, which the node then fills again, slowly.
func (s *stopping) wipe() {
	s.redis.SetDelay(100 * time.Millisecond)
	s.store.FlushAll()
}

// afterAKill leaves a node in the groups that does not answer any more: another one is ready, and
// its lines are cut.
func (s *stopping) afterAKill() {
	s.t.Helper()
	killed := *s
	killed.kafka, killed.redis = proxy.NewLine(s.t), proxy.New(s.t, strings.TrimPrefix(s.env.RedisURL, "redis://"))
	killed.config.DataDir = s.t.TempDir()
	killed.config.Kafka.Options = []kgo.Opt{kgo.Dialer(killed.kafka.Dialer(nil))}
	killed.config.Redis.URL = "redis://" + killed.redis.Addr()
	n, run := killed.start()
	testkit.Await(s.t, "the node that is killed is ready", func() bool { return n.Ready().Ready })
	s.write(200)
	killed.kafka.Cut()
	killed.redis.Cut()
	s.t.Cleanup(func() { _ = run() })
}

// freezeReports makes the gateway report messages as queued, and freezes the brokers after they
// have received the report and before they acknowledge it.
func (s *stopping) freezeReports() {
	s.t.Helper()
	deliveries := s.config.Topics.Inputs[events.Deliveries]
	id := s.brokers.TopicInfo(deliveries).TopicID
	frozen := make(chan struct{})
	s.brokers.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		for _, t := range r.(*kmsg.ProduceRequest).Topics {
			if t.Topic == deliveries || t.TopicID == id {
				s.kafka.Freeze()
				close(frozen)
				return nil, nil, false // once
			}
		}
		s.brokers.KeepControl()
		return nil, nil, false
	})
	s.write(60)
	select {
	case <-frozen:
	case <-time.After(time.Minute):
		s.t.Fatal("nothing was reported as queued")
	}
}

// write writes further messages without waiting until they are folded.
func (s *stopping) write(n int) {
	s.t.Helper()
	cl := testkit.Client(s.t, s.env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	var records []*kgo.Record
	for i := s.written; i < s.written+n; i++ {
		channel := fmt.Sprintf("c%d", i%50)
		value := fmt.Sprintf(`{"channel_id":%q,"message_posted":{"message_id":"m%d","sender_id":"ann"}}`, channel, i)
		if i < 50 {
			value = fmt.Sprintf(`{"channel_id":%q,"members_joined":{"user_ids":["ann","bob","cat"]}}`, channel)
		}
		records = append(records, &kgo.Record{Topic: s.config.Topics.Inputs[0], Key: []byte(channel), Value: []byte(value)})
	}
	s.written += n
	if err := cl.ProduceSync(s.t.Context(), records...).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
}
