package presence

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Of three gateways, one judges each message. It queues the message for the members who are
// connected at none, but not for its sender, not in a large channel, and not if the message is
// uncounted.
func TestQueuedAmongThreeGateways(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		nodes := []*node{c.node(time.Minute), c.node(time.Minute), c.node(time.Minute)}
		c.settled(3)
		nodes[0].connect("ann")
		nodes[1].connect("bob")
		c.at("ann", nodes[0])
		c.at("bob", nodes[1])
		var list []*eventsv1.MessageEvent
		var want []string
		for i := range 40 {
			channel, id := fmt.Sprintf("c%d", i), fmt.Sprintf("m%d", i)
			c.members[channel] = []string{"ann", "bob", "cleo"}
			list = append(list, message(channel, id, "bob"))
			want = append(want, "cleo "+channel+" "+id)
		}
		c.members["large"] = []string{"ann", "cleo", "dan", "eve"}
		c.members["stated"] = []string{"cleo", "dan"}
		silent, reply, broadcast, stated := message("c0", "silent", "bob"), message("c0", "reply", "bob"), message("c0", "shown", "bob"), message("stated", "s", "dan")
		silent.GetMessagePosted().Silent = true
		reply.GetMessagePosted().ThreadId = "m0"
		broadcast.GetMessagePosted().ThreadId, broadcast.GetMessagePosted().Broadcast = "m0", true
		stated.GetMessagePosted().MemberCount = 4
		c.post(append(list, silent, reply, broadcast, stated, message("large", "l", "ann"), message("c1", "own", "cleo"))...)
		c.wants(append(want, "cleo c0 shown")...)
	})
}

// A message does not exist for the users in hidden_from, so it is queued for the other members
// alone. The same holds if hidden_from names all members.
func TestHiddenMessagesAreNotQueued(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		c.node(time.Minute)
		c.settled(1)
		c.members["general"] = []string{"ann", "bob", "cleo"}
		var list []*eventsv1.MessageEvent
		for id, from := range map[string][]string{"seen": nil, "hidden": {"ann", "nobody"}, "nobody's": {"ann", "cleo"}} {
			m := message("general", id, "bob")
			m.MinVersion, m.GetMessagePosted().HiddenFrom = 2, from
			list = append(list, m)
		}
		c.post(list...)
		c.wants("ann general seen", "cleo general seen", "cleo general hidden")
	})
}

// Imported history is not news: no user missed it. Slightly late messages are.
func TestHistoryIsNotQueued(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		n := c.node(time.Minute)
		c.settled(1)
		c.members["general"] = []string{"ann", "bob"}
		c.post(message("general", "live", "bob"))
		c.wants("ann general live")
		c.postAt(time.Now().Add(-2*365*24*time.Hour), message("general", "of years ago", "bob"))
		c.postAt(time.Now().Add(-6*time.Minute), message("general", "of just before", "bob"))
		c.postAt(time.Now().Add(-time.Minute), message("general", "a little late", "bob"))
		c.post(message("general", "now", "bob"))
		c.wants("ann general live", "ann general a little late", "ann general now")
		var late dto.Metric
		if err := n.late.Write(&late); err != nil || late.GetCounter().GetValue() != 2 {
			t.Errorf("%v messages are counted as too old, want 2 (%v)", late.GetCounter().GetValue(), err)
		}
	})
}

// After a reshard, gateways of the old topics and of the new ones may run concurrently, possibly in
// one group if their nodes were not given another. Kafka assigns each topic to its own readers, so
// every message is judged once, by a gateway of its own topics.
func TestQueuedBesideGatewaysOfOtherTopics(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		of, renamed := newCluster(t, env), newCluster(t, env)
		renamed.group = of.group
		renamed.read()
		nodes := []*node{of.node(time.Minute), renamed.node(time.Minute), of.node(time.Minute), renamed.node(time.Minute)}
		of.share(4, clusterPartitions/2)
		nodes[0].connect("ann")
		nodes[1].connect("bob")
		of.at("ann", nodes[0])
		of.at("bob", nodes[1])
		of.queuesInAll(20, "bob", "cleo")
		renamed.queuesInAll(10, "bob", "cleo")
	})
}

// A user's second gateway keeps them present when they leave the first; once they have left both,
// nothing does.
func TestQueuedWhenAUserMoves(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		a, b := c.node(time.Minute), c.node(time.Minute)
		c.settled(2)
		c.members["general"] = []string{"ann", "bob"}
		leaveA := a.connect("ann")
		c.at("ann", a)
		leaveB := b.connect("ann")
		c.at("ann", b)
		leaveA()
		c.post(message("general", "m1", "bob"))
		c.wants()
		// The other way round: the gateway that deletes the key had set it last, and the other one
		// sets it again.
		leaveA = a.connect("ann")
		c.at("ann", a)
		leaveA()
		c.at("ann", b)
		c.post(message("general", "m2", "bob"))
		c.wants()
		leaveB()
		c.at("ann", nil)
		c.post(message("general", "m3", "bob"))
		c.wants("ann general m3")
	})
}

// A gateway dies while a user is connected to it. The user counts as present until their key
// expires, and as absent after that. The other gateway then reports for the dead one's partitions.
func TestQueuedWhenAGatewayDies(t *testing.T) {
	dies := func(t *testing.T, env testkit.Env) {
		c := newCluster(t, env)
		a, _ := c.couple(1500*time.Millisecond, time.Minute)
		a.die()
		c.at("ann", nil)
		c.queuesInAll(20, "cleo", "ann")
	}
	t.Run("embedded", func(t *testing.T) {
		r := testkit.Miniredis(t)
		r.ClockTTL(true) // as in `tidemark dev`
		dies(t, testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + r.Addr()})
	})
	t.Run("real", func(t *testing.T) {
		dies(t, testkit.Env{Brokers: testkit.Kafka(t).Brokers, RedisURL: testkit.Redis(t).URL, Real: true})
	})
}

// counts is a hook that counts failed lookups.
type counts struct{ failed atomic.Int64 }

func (*counts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*counts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (n *counts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "mget" && err != nil {
			n.failed.Add(1)
		}
		return err
	}
}

// While Redis does not answer, the gateway judges nothing. Afterwards it judges everything.
func TestQueuedWaitsForRedis(t *testing.T) {
	r := testkit.Miniredis(t)
	c := newCluster(t, testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + r.Addr()})
	n := c.node(time.Minute)
	c.settled(1)
	n.connect("bob")
	c.at("bob", n)
	c.members["general"] = []string{"ann", "bob", "cleo"}
	var asked counts
	c.rdb.AddHook(&asked)
	r.SetError("LOADING for the test")
	c.post(message("general", "m1", "cleo"))
	c.await("Redis is asked in vain", func() bool { return asked.failed.Load() >= 3 })
	offsets, err := c.adm.FetchOffsets(t.Context(), c.group)
	if err != nil {
		t.Fatal(err)
	}
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.At > 0 {
			t.Errorf("a message was passed over: %v", offsets)
		}
	})
	r.SetError("")
	c.wants("ann general m1")
}

// Presence is looked up in lists of limited length, once for each user, and not for connected ones.
func TestPresenceLookups(t *testing.T) {
	r := testkit.Miniredis(t)
	c := newCluster(t, testkit.Env{Brokers: testkit.FakeKafka(t).ListenAddrs(), RedisURL: "redis://" + r.Addr()})
	p, here := c.presenceOf("g", time.Minute)
	here.change("here", 1)
	if err := r.Set(cache.PresenceKey("there"), "another"); err != nil {
		t.Fatal(err)
	}
	list := []absent{{"here", "c", "m"}, {"there", "c", "m"}}
	for i := range batch + 1 {
		list = append(list, absent{fmt.Sprintf("u%d", i), "c", "m1"}, absent{fmt.Sprintf("u%d", i), "c", "m2"})
	}
	if _, err := c.rdb.Ping(t.Context()).Result(); err != nil { // completes the connection's own commands
		t.Fatal(err)
	}
	before := r.CommandCount()
	got, err := p.absentOf(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, list[2:]) || r.CommandCount()-before != 2 {
		t.Errorf("%d of %d are absent, by %d commands", len(got), len(list), r.CommandCount()-before)
	}
}
