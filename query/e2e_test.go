package query_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/edge"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/ingestv1/ingestv1connect"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

const e2ePartitions = 4

// process is one node: a processor and the services over it.
type process struct {
	query  queryv1connect.QueryServiceClient
	ingest ingestv1connect.IngestServiceClient
	proc   *processor.Processor
	stop   func()
}

type site struct {
	t      *testing.T
	env    testkit.Env
	names  processor.Topics
	group  string
	inputs [events.NumInputs]string
}

func newSite(t *testing.T, env testkit.Env) *site {
	set := env.Topics(t, e2ePartitions)
	s := &site{t: t, env: env, group: testkit.UniqueName(t, "g")}
	for i, name := range events.InputTopics {
		s.inputs[i] = set.Name(name)
	}
	s.names = processor.Topics{
		Inputs: s.inputs, Unread: set.Name(events.TopicUnread), Channels: set.Name(events.TopicChannels),
		Receipts: set.Name(events.TopicReceipts), DeadLetters: set.Name(events.TopicDeadLetters),
	}
	return s
}

func (s *site) start() *process {
	s.t.Helper()
	srv := httptest.NewUnstartedServer(nil)
	url := "http://" + srv.Listener.Addr().String()
	proc, err := processor.New(processor.Config{
		Brokers: s.env.Brokers, Group: s.group, Topics: s.names, DataDir: s.t.TempDir(), Settings: projections.DefaultSettings(),
		Advertise: url, ClientOptions: append(testkit.FastClientOpts(), kgo.SessionTimeout(6*time.Second)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proc.Run(ctx) }()

	srv.Config = edge.NewServer(query.Handler(query.Config{
		Node: proc, Topics: s.inputs, Self: url,
		Producer: testkit.Client(s.t, s.env.Brokers, kgo.ProducerLinger(0)),
	}))
	srv.Start()
	var once sync.Once
	p := &process{
		query:  queryv1connect.NewQueryServiceClient(http.DefaultClient, url),
		ingest: ingestv1connect.NewIngestServiceClient(http.DefaultClient, url),
		proc:   proc,
	}
	p.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				s.t.Errorf("processor: %v", err)
			}
			srv.CloseClientConnections()
			srv.Close()
		})
	}
	s.t.Cleanup(p.stop)
	return p
}

// owning waits until each process is ready and owns as many partitions as it should.
func (s *site) owning(want int, ps ...*process) {
	s.t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for _, p := range ps {
		for {
			before := len(p.proc.Status()) // a process without partitions is ready too, just before it gets some
			ok, lines := p.proc.Ready()
			if ok && before == want && len(p.proc.Status()) == want {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("not ready with %d partitions: %q", want, lines)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (p *process) publish(t *testing.T, list ...*ingestv1.Event) []string {
	t.Helper()
	res, err := p.ingest.Publish(t.Context(), connect.NewRequest(&ingestv1.PublishRequest{Events: list}))
	if err != nil {
		t.Fatal(err)
	}
	return res.Msg.After
}

// retried repeats a read while partitions move, as a client does.
func retried[T any](t *testing.T, call func() (*connect.Response[T], error)) *T {
	t.Helper()
	deadline := time.Now().Add(40 * time.Second)
	for {
		res, err := call()
		if err == nil {
			return res.Msg
		}
		if connect.CodeOf(err) != connect.CodeUnavailable || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func joined(channel string, users ...string) *ingestv1.Event {
	return message(channel, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MembersJoined{
		MembersJoined: &eventsv1.MembersJoined{UserIds: users},
	}})
}

func posted(channel, messageID string) *ingestv1.Event {
	return message(channel, &eventsv1.MessageEvent{Kind: &eventsv1.MessageEvent_MessagePosted{
		MessagePosted: &eventsv1.MessagePosted{MessageId: messageID, SenderId: "bob"},
	}})
}

func message(channel string, m *eventsv1.MessageEvent) *ingestv1.Event {
	m.ChannelId = channel
	return &ingestv1.Event{Event: &ingestv1.Event_Message{Message: m}}
}

// An event published through one node can be read through the other at once, with its token. That
// continues when a node leaves.
func TestTwoNodesEndToEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Kafka")
	}
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env)
		a := s.start()
		s.owning(e2ePartitions, a)
		b := s.start()
		s.owning(e2ePartitions/2, a, b)

		const channels = 12
		var after []string
		for i := range channels {
			ch := fmt.Sprintf("ch%02d", i)
			list := []*ingestv1.Event{joined(ch, "ann", "bob")}
			for j := range i {
				list = append(list, posted(ch, fmt.Sprintf("m%d", j)))
			}
			after = events.LatestTokens(append(after, a.publish(t, list...)...))
		}
		for _, p := range []*process{a, b} {
			for i := range channels {
				got := retried(t, func() (*connect.Response[queryv1.ChannelUnread], error) {
					return p.query.GetUnread(t.Context(), connect.NewRequest(&queryv1.GetUnreadRequest{
						UserId: "ann", ChannelId: fmt.Sprintf("ch%02d", i), After: after,
					}))
				})
				if got.Unread != uint32(i) || !got.Member {
					t.Errorf("ch%02d: %v, want %d unread", i, got, i)
				}
			}
			inbox := retried(t, func() (*connect.Response[queryv1.GetInboxResponse], error) {
				return p.query.GetInbox(t.Context(), connect.NewRequest(&queryv1.GetInboxRequest{UserId: "ann", After: after}))
			})
			if len(inbox.Channels) != channels || inbox.Totals.Unread != channels*(channels-1)/2 {
				t.Errorf("inbox of %d channels, totals %v", len(inbox.Channels), inbox.Totals)
			}
		}

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := a.query.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		if !stream.Receive() || stream.Msg().GetSnapshot() == nil {
			t.Fatalf("no snapshot: %v, %v", stream.Msg(), stream.Err())
		}
		unread := map[string]uint32{}
		follow := func(channel string, want uint32) {
			t.Helper()
			for unread[channel] != want {
				if !stream.Receive() {
					t.Fatal(stream.Err())
				}
				for _, c := range append(stream.Msg().GetSnapshot().GetChannels(), stream.Msg().GetUpdate().GetChannel()) {
					unread[c.GetChannelId()] = c.GetUnread()
				}
			}
		}
		for i := range channels {
			ch := fmt.Sprintf("ch%02d", i)
			b.publish(t, posted(ch, "live"))
			follow(ch, uint32(i)+1)
		}

		b.stop()
		s.owning(e2ePartitions, a)
		for i := range channels {
			ch := fmt.Sprintf("ch%02d", i)
			a.publish(t, posted(ch, "after the move"))
			follow(ch, uint32(i)+2)
		}
	})
}

// TestWatchLatency measures a message's way from Publish to the update of a watcher, at light load.
func TestWatchLatency(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Kafka")
	}
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env)
		a := s.start()
		s.owning(e2ePartitions, a)
		a.publish(t, joined("c", "ann", "bob"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := a.query.WatchUnread(ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: "ann"}))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		var took []time.Duration
		for i := range 200 {
			start := time.Now()
			a.publish(t, posted("c", fmt.Sprintf("m%d", i)))
			for stream.Receive() {
				if stream.Msg().GetUpdate().GetChannel().GetUnread() == uint32(i)+1 {
					break
				}
			}
			if stream.Err() != nil {
				t.Fatal(stream.Err())
			}
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		t.Logf("published to watched: p50 %v, p99 %v", took[len(took)/2], took[len(took)*99/100])
		if p50 := took[len(took)/2]; p50 > 250*time.Millisecond {
			t.Errorf("p50 is %v: updates do not flow, they are polled", p50)
		}
	})
}
