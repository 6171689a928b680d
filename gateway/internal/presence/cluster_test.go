package presence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/prometheus/client_golang/prometheus"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// cluster is several gateways on one Kafka and one Redis. Only their reports of queued messages
// run: their sockets are connections without a network.
type cluster struct {
	t   *testing.T
	env testkit.Env
	// messages and deliveries are the names of topics.
	messages, deliveries string
	group                string
	cl                   *kgo.Client
	adm                  *kadm.Client
	rdb                  *redis.Client

	// planted is for the gateways that start after it is set.
	planted func(where string)
	logger  *slog.Logger

	mu      sync.Mutex
	members map[string][]string // by channel
}

const clusterPartitions = 6

func newCluster(t *testing.T, env testkit.Env) *cluster {
	t.Helper()
	set := env.Topics(t, clusterPartitions)
	o, err := redis.ParseURL(env.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{
		t: t, env: env, group: testkit.UniqueName(t, "gateways"), rdb: redis.NewClient(o), members: map[string][]string{}, logger: slog.New(slog.DiscardHandler),
		messages: set.Name(events.TopicMessages), deliveries: set.Name(events.TopicDeliveries),
		cl:  testkit.Client(t, env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))),
		adm: testkit.Admin(t, env.Brokers),
	}
	t.Cleanup(func() { _ = c.rdb.Close() })
	c.read()
	return c
}

// read makes the group one that has read its topic before. A group without offsets begins where the
// log ends when it asks, which may be behind the first messages of a test.
func (c *cluster) read() {
	c.t.Helper()
	var at kadm.Offsets
	for p := range int32(clusterPartitions) {
		at.AddOffset(c.messages, p, 0, -1)
	}
	if err := c.adm.CommitAllOffsets(context.Background(), c.group, at); err != nil {
		c.t.Fatal(err)
	}
}

// node is one of the gateways.
type node struct {
	id       string
	presence *Presence
	late     prometheus.Counter
	failed   prometheus.Counter
	sockets  *sockets
	die      func() // ends abruptly, like kill -9; waits until nothing runs
}

// sockets are the connections of a gateway: how many each user has.
type sockets struct {
	mu    sync.Mutex
	users map[string]int
}

func (s *sockets) Has(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users[user] > 0
}

func (s *sockets) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.users))
}

// change adds connections of a user, and returns how many they have.
func (s *sockets) change(user string, by int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.users[user] + by
	if s.users[user] = n; n == 0 {
		delete(s.users, user)
	}
	return n
}

// presenceOf returns the presence of a gateway without sockets.
func (c *cluster) presenceOf(id string, ttl time.Duration) (*Presence, *sockets) {
	s := &sockets{users: map[string]int{}}
	return New(Config{Gateway: id, Sockets: s, Redis: c.rdb, TTL: ttl, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}), s
}

func (c *cluster) node(ttl time.Duration) *node {
	c.t.Helper()
	counter := func() prometheus.Counter { return prometheus.NewCounter(prometheus.CounterOpts{Name: "n"}) }
	n := &node{id: rand.Text(), late: counter(), failed: counter()}
	n.presence, n.sockets = c.presenceOf(n.id, ttl)
	r := NewReporter(ReporterConfig{
		Brokers: c.env.Brokers, ClientOptions: testkit.FastClientOpts(), Messages: c.messages, Deliveries: c.deliveries, Partitions: clusterPartitions,
		Producer: testkit.Client(c.t, c.env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))),
		Group:    c.group, GroupSession: 20 * time.Second, Presence: n.presence, Members: c.list, MayAsk: func() error { return nil }, Limit: 3,
		Within: 5 * time.Minute, Began: time.Now(), Now: time.Now, Logger: c.logger,
		Queued: counter(), Late: n.late, Unknown: counter(), Failed: n.failed, Planted: c.planted,
	})
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { n.presence.Run(ctx) })
	wg.Go(func() { r.Run(ctx) })
	n.die = func() { cancel(); wg.Wait() }
	c.t.Cleanup(n.die)
	return n
}

func (c *cluster) list(_ context.Context, channelID, _ string, limit int) ([]string, int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.members[channelID]
	return slices.Clone(list[:min(len(list), limit+1)]), 0, nil
}

func (c *cluster) await(what string, ok func() bool) {
	c.t.Helper()
	testkit.Await(c.t, what, ok)
}

// settled waits until n gateways share the partitions.
func (c *cluster) settled(n int) {
	c.t.Helper()
	c.share(n, clusterPartitions/n)
}

// share waits until the group has n members, each with this many partitions of one topic.
func (c *cluster) share(n, partitions int) {
	c.t.Helper()
	c.await(fmt.Sprintf("%d members of the group", n), func() bool {
		groups, err := c.adm.DescribeGroups(context.Background(), c.group)
		if err != nil || groups[c.group].State != "Stable" || len(groups[c.group].Members) != n {
			return false
		}
		for _, m := range groups[c.group].Members {
			assigned, ok := m.Assigned.AsConsumer()
			if !ok || len(assigned.Topics) != 1 || len(assigned.Topics[0].Partitions) != partitions {
				return false // still moving
			}
		}
		return true
	})
}

// connect gives a user a socket at a gateway, and returns a function that closes it.
func (n *node) connect(user string) (disconnect func()) {
	n.sockets.change(user, +1)
	n.presence.Arrived(user)
	return func() {
		if n.sockets.change(user, -1) == 0 {
			n.presence.Left(user)
		}
	}
}

// at waits until a user's key has the value of a gateway, or is gone if n is nil.
func (c *cluster) at(user string, n *node) {
	c.t.Helper()
	want := ""
	if n != nil {
		want = n.id
	}
	c.await(user+" is at "+want, func() bool {
		got, err := c.rdb.Get(context.Background(), cache.PresenceKey(user)).Result()
		return got == want && (err == nil || errors.Is(err, redis.Nil))
	})
}

// couple returns two gateways, whose presence lasts for these times. ann is connected at one and
// bob at the other.
func (c *cluster) couple(ofAnn, ofBob time.Duration) (a, b *node) {
	c.t.Helper()
	a, b = c.node(ofAnn), c.node(ofBob)
	c.settled(2)
	a.connect("ann")
	b.connect("bob")
	c.at("ann", a)
	c.at("bob", b)
	return a, b
}

func (c *cluster) post(list ...*eventsv1.MessageEvent) {
	c.t.Helper()
	c.postAt(time.Time{}, list...)
}

// postAt posts in records with a timestamp; zero: now.
func (c *cluster) postAt(at time.Time, list ...*eventsv1.MessageEvent) {
	c.t.Helper()
	var records []*kgo.Record
	for _, e := range list {
		value, err := proto.Marshal(e)
		if err != nil {
			c.t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: c.messages, Key: []byte(e.ChannelId), Value: value, Timestamp: at})
	}
	if err := c.cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

func message(channel, id, sender string) *eventsv1.MessageEvent {
	return &eventsv1.MessageEvent{ChannelId: channel, Kind: &eventsv1.MessageEvent_MessagePosted{
		MessagePosted: &eventsv1.MessagePosted{MessageId: id, SenderId: sender}}}
}

// queued returns all reports, "user channel message", with the number of times that each was made,
// once everything posted was judged.
func (c *cluster) queued() map[string]int {
	c.t.Helper()
	ctx := context.Background()
	ends, err := c.adm.ListEndOffsets(ctx, c.messages, c.deliveries)
	if err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	c.await("everything is judged", func() bool {
		offsets, err := c.adm.FetchOffsets(ctx, c.group)
		done := err == nil
		for p, end := range ends[c.messages] {
			if o, ok := offsets.Lookup(c.messages, p); end.Offset > 0 && (!ok || o.At < end.Offset) {
				done = false
			}
		}
		return done
	})
	if ends, err = c.adm.ListEndOffsets(ctx, c.deliveries); err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	cl := testkit.Client(c.t, c.env.Brokers, kgo.ConsumeTopics(c.deliveries), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	total, out := int64(0), map[string]int{}
	ends.Each(func(o kadm.ListedOffset) { total += o.Offset })
	for n := int64(0); n < total; {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		fetches := cl.PollFetches(ctx)
		cancel()
		if err := fetches.Err(); err != nil {
			c.t.Fatal(err)
		}
		for _, r := range fetches.Records() {
			n++
			var e eventsv1.DeliveryEvent
			if err := proto.Unmarshal(r.Value, &e); err != nil {
				c.t.Fatal(err)
			}
			out[e.UserId+" "+e.ChannelId+" "+e.GetQueued().GetMessageId()]++
		}
	}
	return out
}

func (c *cluster) wants(want ...string) {
	c.t.Helper()
	got := c.queued()
	if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, slices.Sorted(slices.Values(want))) {
		c.t.Errorf("queued: %v, want %v", list, want)
	}
	for what, n := range got {
		if n != 1 {
			c.t.Errorf("%s was reported %d times", what, n)
		}
	}
}

// queuesInAll posts a message by sender into each of n channels of ann, bob and cleo, and checks
// that it is queued for absent alone.
func (c *cluster) queuesInAll(n int, sender, absent string) {
	c.t.Helper()
	var list []*eventsv1.MessageEvent
	var want []string
	for i := range n {
		channel := fmt.Sprintf("c%d", i)
		c.members[channel] = []string{"ann", "bob", "cleo"}
		list = append(list, message(channel, "m", sender))
		want = append(want, absent+" "+channel+" m")
	}
	c.post(list...)
	c.wants(want...)
}
