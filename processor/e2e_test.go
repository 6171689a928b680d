package processor

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// site is a set of topics with a group, on some cluster.
type site struct {
	t          testing.TB
	brokers    []string
	topics     testkit.TopicSet
	group      string
	partitions int32
	client     *kgo.Client // produces to any partition
	opts       []kgo.Opt   // of every client of this site: a dialer

	asking sync.Once
	asks   *kadm.Client
}

func newSite(t testing.TB, brokers []string, partitions int32) *site {
	t.Helper()
	return newReplicatedSite(t, brokers, partitions, 1)
}

func newReplicatedSite(t testing.TB, brokers []string, partitions int32, replicas int16, opts ...kgo.Opt) *site {
	t.Helper()
	s := &site{
		t: t, brokers: brokers, partitions: partitions, opts: opts,
		topics: testkit.Topics(t, brokers, partitions, replicas, opts...), group: testkit.UniqueName(t, "g"),
	}
	s.client = s.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8<<20))
	return s
}

// newClient returns a client of the site's cluster, which is closed with the test.
func (s *site) newClient(opts ...kgo.Opt) *kgo.Client {
	s.t.Helper()
	return testkit.Client(s.t, s.brokers, append(slices.Clone(s.opts), opts...)...)
}

// admin returns an admin client of the site's cluster. All calls return the same client, because
// tests use it in loops. It is closed with the test.
func (s *site) admin() *kadm.Client {
	s.asking.Do(func() { s.asks = testkit.Admin(s.t, s.brokers, s.opts...) })
	return s.asks
}

func (s *site) names() Topics {
	t := Topics{
		Unread: s.topics.Name(events.TopicUnread), Channels: s.topics.Name(events.TopicChannels),
		Receipts: s.topics.Name(events.TopicReceipts), DeadLetters: s.topics.Name(events.TopicDeadLetters),
	}
	for i, name := range events.InputTopics {
		t.Inputs[i] = s.topics.Name(name)
	}
	return t
}

func (s *site) config(dir string) Config {
	c := Config{
		Brokers: s.brokers, Group: s.group, Topics: s.names(), DataDir: dir, Settings: projections.DefaultSettings(),
		ClientOptions: slices.Concat(testkit.FastClientOpts(), s.opts), StopTimeout: 10 * time.Second,
		CutEvery: 100 * time.Millisecond, CommitEvery: 20 * time.Millisecond,
	}
	if testing.Verbose() {
		c.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	return c
}

// member is a running processor.
type member struct {
	*Processor
	t    testing.TB
	stop func()
}

func (s *site) start(c Config) *member {
	s.t.Helper()
	p, err := New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	var once sync.Once
	m := &member{Processor: p, t: s.t}
	m.stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					s.t.Errorf("Run: %v", err)
				}
			case <-time.After(time.Minute): // it waits for several things, some of which may take StopTimeout
				s.t.Error("Run did not return within a minute")
			}
		})
	}
	s.t.Cleanup(m.stop)
	return m
}

// until polls cond until it holds.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // machines may be slow; no test measures it
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 2 minutes: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (m *member) ready(partitions int) *member {
	m.t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // machines may be slow; no test measures it
	for {
		before := len(m.Status()) // a member without partitions is ready too, just before it gets some
		ok, lines := m.Ready()
		if ok && before == partitions && len(m.Status()) == partitions {
			return m
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("not ready with %d partitions within 2 minutes: %q", partitions, lines)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// produce writes an event to its own partition and returns the written record.
func (s *site) produce(in events.Input, channel string, m proto.Message) *kgo.Record {
	s.t.Helper()
	return s.raw(in, events.PartitionOf([]byte(channel), s.partitions), []byte(channel), mustMarshal(s.t, m))
}

func (s *site) raw(in events.Input, partition int32, key, value []byte) *kgo.Record {
	s.t.Helper()
	r := &kgo.Record{Topic: s.names().Inputs[in], Partition: partition, Key: key, Value: value}
	if err := s.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *site) join(channel string, users ...string) *kgo.Record {
	return s.produce(events.Messages, channel, &eventsv1.MessageEvent{ChannelId: channel,
		Kind: &eventsv1.MessageEvent_MembersJoined{MembersJoined: &eventsv1.MembersJoined{UserIds: users}}})
}

func (s *site) post(channel, id, sender string) *kgo.Record {
	return s.produce(events.Messages, channel, postBy(channel, id, sender))
}

func postBy(channel, id, sender string) *eventsv1.MessageEvent {
	return &eventsv1.MessageEvent{ChannelId: channel,
		Kind: &eventsv1.MessageEvent_MessagePosted{MessagePosted: &eventsv1.MessagePosted{MessageId: id, SenderId: sender}}}
}

func mustMarshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	v, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (s *site) read(channel, user, id string) *kgo.Record {
	return s.produce(events.Reads, channel, &eventsv1.ReadEvent{ChannelId: channel, UserId: user,
		Kind: &eventsv1.ReadEvent_ReadUpTo{ReadUpTo: &eventsv1.ReadUpTo{Target: &eventsv1.ReadUpTo_MessageId{MessageId: id}}}})
}

// unread waits for the record and returns the user's unread count.
func (m *member) unread(after *kgo.Record, user, channel string) uint32 {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	in := events.Input(slices.Index(m.cfg.Topics.Inputs[:], after.Topic))
	if err := m.Wait(ctx, after.Partition, in, after.Offset); err != nil {
		m.t.Fatalf("wait for %s/%d/%d: %v", after.Topic, after.Partition, after.Offset, err)
	}
	p, err := m.Live(after.Partition)
	if err != nil {
		m.t.Fatal(err)
	}
	p.RLock()
	defer p.RUnlock()
	v, ok := p.View(user, channel)
	if !ok {
		m.t.Fatalf("no channel %s", channel)
	}
	return v.Unread
}

func TestOneEventGoesThrough(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 4)
		m := s.start(s.config(t.TempDir())).ready(4)
		s.join("general", "alice", "bob")
		last := s.post("general", "m1", "alice")
		if n := m.unread(last, "bob", "general"); n != 1 {
			t.Errorf("bob has %d unread, want 1", n)
		}
		last = s.read("general", "bob", "m1")
		if n := m.unread(last, "bob", "general"); n != 0 {
			t.Errorf("bob has %d unread after reading, want 0", n)
		}
	})
}

// header returns the value of a record's header; "" if it has none.
func header(r *kgo.Record, key string) string {
	v := ""
	for _, h := range r.Headers {
		if h.Key == key {
			v = string(h.Value)
		}
	}
	return v
}
