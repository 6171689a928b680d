package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/testkit"
)

// cluster is several gateways on one Kafka and one Redis, with nothing of them running but what reports messages as
// queued: their sockets are connections of no network.
type cluster struct {
	t      *testing.T
	env    testkit.Env
	topics Topics
	group  string
	cl     *kgo.Client
	adm    *kadm.Client
	rdb    *redis.Client

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
		t: t, env: env, group: testkit.UniqueName(t, "gateways"), rdb: redis.NewClient(o), members: map[string][]string{},
		topics: Topics{Messages: set.Name(events.TopicMessages), Deliveries: set.Name(events.TopicDeliveries)},
		cl:     testkit.Client(t, env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))),
		adm:    testkit.Admin(t, env.Brokers),
	}
	t.Cleanup(func() { _ = c.rdb.Close() })
	return c
}

// node is one of the gateways.
type node struct {
	*Gateway
	die func() // without a word, as kill -9 would have it; waits until nothing runs
}

func (c *cluster) node(ttl time.Duration) *node {
	c.t.Helper()
	g, err := New(Config{
		Brokers: c.env.Brokers, ClientOptions: testkit.FastClientOpts(), Topics: c.topics, Partitions: clusterPartitions,
		Query: http.NotFoundHandler(), Producer: testkit.Client(c.t, c.env.Brokers, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil))),
		Redis: c.rdb, Group: c.group, GroupSession: 20 * time.Second, PresenceTTL: ttl, ReceiptLimit: 3,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	g.queuer = &queuer{g: g, rosters: newRosters(c.list, 3)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { g.presence.run(ctx) })
	wg.Go(func() { g.queuer.run(ctx) })
	n := &node{Gateway: g, die: func() { cancel(); wg.Wait() }}
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

// share waits until the group has n members with so many partitions of one topic each.
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

// connect gives a user a socket at a gateway, and returns what closes it.
func (n *node) connect(user string) (disconnect func()) {
	conn := &conn{g: n.Gateway}
	if _, ok := n.hub.connect(conn, user, 10); !ok {
		panic("refused")
	}
	n.presence.arrived(user)
	return func() {
		if n.hub.disconnect(conn) {
			n.presence.left(user)
		}
	}
}

// at waits until a user's key says what it should: a gateway, or nothing if n is nil.
func (c *cluster) at(user string, n *node) {
	c.t.Helper()
	want := ""
	if n != nil {
		want = n.id
	}
	c.await(user+" is at "+want, func() bool {
		got, err := c.rdb.Get(context.Background(), presencePrefix+user).Result()
		return got == want && (err == nil || errors.Is(err, redis.Nil))
	})
}

// couple is two gateways, with presence that lasts for so long, at which ann and bob are connected.
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
	var records []*kgo.Record
	for _, e := range list {
		value, err := proto.Marshal(e)
		if err != nil {
			c.t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: c.topics.Messages, Key: []byte(e.ChannelId), Value: value})
	}
	if err := c.cl.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		c.t.Fatal(err)
	}
}

func message(channel, id, sender string) *eventsv1.MessageEvent {
	return &eventsv1.MessageEvent{ChannelId: channel, Kind: &eventsv1.MessageEvent_MessagePosted{
		MessagePosted: &eventsv1.MessagePosted{MessageId: id, SenderId: sender}}}
}

// queued are all reports, "user channel message", with how often each was made, once everything posted was judged.
func (c *cluster) queued() map[string]int {
	c.t.Helper()
	ctx := context.Background()
	ends, err := c.adm.ListEndOffsets(ctx, c.topics.Messages, c.topics.Deliveries)
	if err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	c.await("everything is judged", func() bool {
		offsets, err := c.adm.FetchOffsets(ctx, c.group)
		done := err == nil
		for p, end := range ends[c.topics.Messages] {
			if o, ok := offsets.Lookup(c.topics.Messages, p); end.Offset > 0 && (!ok || o.At < end.Offset) {
				done = false
			}
		}
		return done
	})
	if ends, err = c.adm.ListEndOffsets(ctx, c.topics.Deliveries); err != nil || ends.Error() != nil {
		c.t.Fatal(err, ends.Error())
	}
	cl := testkit.Client(c.t, c.env.Brokers, kgo.ConsumeTopics(c.topics.Deliveries), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
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

// queuesInAll posts a message by sender into each of n channels of ann, bob and cleo, and wants it queued for one of them alone.
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
