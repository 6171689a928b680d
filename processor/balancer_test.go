package processor

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/testkit"
)

func TestJoinMetadataIsDeterministic(t *testing.T) {
	b := newBalancer([]string{"m", "r", "d"}, memberData{Advertise: "http://a:1", Held: []int32{3, 1, 3}})
	owned := map[string][]int32{"r": {2, 1}, "m": {1, 2}, "d": {1, 2}}
	first := b.JoinGroupMetadata([]string{"r", "m", "d"}, maps.Clone(owned), 4)
	for range 50 {
		again := b.JoinGroupMetadata([]string{"d", "m", "r"}, maps.Clone(owned), 4)
		if !bytes.Equal(first, again) {
			t.Fatal("the same state gave other bytes")
		}
	}
	var meta kmsg.ConsumerMemberMetadata
	if err := meta.ReadFrom(first); err != nil {
		t.Fatal(err)
	}
	if d := decodeMemberData(meta.UserData); d.Advertise != "http://a:1" || !slices.Equal(d.Held, []int32{1, 3}) {
		t.Errorf("member data is %+v", d)
	}
	if meta.Generation != 4 || len(meta.OwnedPartitions) != 3 {
		t.Errorf("generation %d, owned %v", meta.Generation, meta.OwnedPartitions)
	}
}

func TestMemberDataFromOthers(t *testing.T) {
	d := memberData{Advertise: "http://a:1", RelayKey: "key", Held: []int32{0, 7}}
	newer := append(d.encode(), 0x72, 2, 'h', 'i', 0x78, 5) // fields 14 and 15 of a later version
	if got := decodeMemberData(newer); got.Advertise != d.Advertise || got.RelayKey != d.RelayKey || !slices.Equal(got.Held, d.Held) {
		t.Errorf("got %+v, want %+v: unknown fields are left out", got, d)
	}
	for _, b := range [][]byte{nil, {0xFF}, []byte("not a message"), {0x0A, 200, 1}, {0x12, 1, 0x80}} {
		decodeMemberData(b) // whatever it is, it is no reason to fail
	}
	if got := decodeMemberData((&memberData{Advertise: strings.Repeat("x", maxAdvertise+1)}).encode()); got.Advertise != "" {
		t.Error("a URL beyond the limit was believed")
	}
	if got := decodeMemberData((&memberData{RelayKey: strings.Repeat("x", maxRelayKey+1)}).encode()); got.RelayKey != "" {
		t.Error("a key beyond the limit was believed")
	}
}

// plan balances members as a leader would and returns the assignment by member id.
func (b *balancer) plan(t *testing.T, counts map[string]int32, members map[string][]byte) map[string]map[string][]int32 {
	t.Helper()
	var joined []kmsg.JoinGroupResponseMember
	for _, id := range sortedKeys(members) {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.ProtocolMetadata = id, members[id]
		joined = append(joined, m)
	}
	mb, topics, err := b.MemberBalancer(joined)
	if err != nil {
		t.Fatal(err)
	}
	for topic := range topics {
		if _, ok := counts[topic]; !ok {
			t.Errorf("unexpected topic %s", topic)
		}
	}
	result := map[string]map[string][]int32{}
	balanced, err := mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(counts)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range balanced.IntoSyncAssignment() {
		if result[a.MemberID], err = b.ParseSyncAssignment(a.MemberAssignment); err != nil {
			t.Fatal(err)
		}
	}
	return result
}

// TestBalanceKeepsTornClaimsTogether: a member that claims a partition of one topic only must not make another member
// get the partition of the other topics before it has let go.
func TestBalanceKeepsTornClaimsTogether(t *testing.T) {
	topics := []string{"d", "m", "r"}
	b := newBalancer(topics, memberData{})
	plan := b.plan(t, map[string]int32{"m": 2, "r": 2, "d": 2}, map[string][]byte{
		"a": b.JoinGroupMetadata(topics, map[string][]int32{"m": {0, 1}}, 3),
		"b": b.JoinGroupMetadata(topics, nil, -1),
	})
	for id, assigned := range plan {
		for _, topic := range topics[1:] {
			if !slices.Equal(assigned[topics[0]], assigned[topic]) {
				t.Errorf("%s gets %v", id, assigned)
			}
		}
	}
	if len(plan["a"]["m"]) != 1 || len(plan["b"]["m"]) != 0 {
		t.Errorf("got %v, want one partition to stay and the other to wait until it is given up", plan)
	}
}

func TestBalanceOtherConsumersGetNothing(t *testing.T) {
	topics := []string{"d", "m", "r"}
	b := newBalancer(topics, memberData{})
	plan := b.plan(t, map[string]int32{"m": 3, "r": 2, "d": 3}, map[string][]byte{
		"a": b.JoinGroupMetadata(topics, nil, -1),
		"b": b.JoinGroupMetadata([]string{"m"}, nil, -1),
	})
	if got := plan["a"]["m"]; !slices.Equal(got, []int32{0, 1}) {
		t.Errorf("a gets %v of m, want those that all topics have", got)
	}
	if got := plan["b"]; len(got) != 0 {
		t.Errorf("b gets %v, it does not consume all topics", got)
	}
}

// consumer is a bare group member that records what it owns.
type consumer struct {
	client *kgo.Client
	mu     sync.Mutex
	owned  map[string][]int32
	torn   bool // it once owned a partition of some topics only
	moves  int
}

func joinGroup(t *testing.T, s *site) *consumer {
	c := &consumer{owned: map[string][]int32{}}
	inputs := s.names().Inputs
	check := func() {
		for _, topic := range inputs[1:] {
			c.torn = c.torn || !slices.Equal(c.owned[inputs[0]], c.owned[topic])
		}
	}
	c.client = testkit.Client(t, s.brokers, kgo.ConsumerGroup(s.group), kgo.ConsumeTopics(inputs[:]...),
		kgo.Balancers(newBalancer(inputs[:], memberData{})), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for topic, ps := range m {
				c.owned[topic] = append(c.owned[topic], ps...)
				slices.Sort(c.owned[topic])
			}
			check()
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for topic, ps := range m {
				c.owned[topic] = slices.DeleteFunc(c.owned[topic], func(p int32) bool { return slices.Contains(ps, p) })
			}
			c.moves += len(m[inputs[0]])
			check()
		}))
	return c
}

func (c *consumer) has(topic string) []int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.owned[topic])
}

// TestGroupOneTwoThreeTwo: through all of it partition p of the three topics is on one member, the counts are even in
// the end, and only what has to moves.
func TestGroupOneTwoThreeTwo(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 12
		s := newSite(t, env.Brokers, n)
		topic := s.names().Inputs[0]
		settled := func(cs ...*consumer) func() bool {
			return func() bool {
				var all []int32
				for _, c := range cs {
					has := c.has(topic)
					if len(has) != n/len(cs) {
						return false
					}
					all = append(all, has...)
				}
				slices.Sort(all)
				return len(slices.Compact(all)) == n
			}
		}
		a := joinGroup(t, s)
		until(t, "one member has all", settled(a))
		b := joinGroup(t, s)
		until(t, "two members share", settled(a, b))
		if a.moves != 6 {
			t.Errorf("the second member moved %d partitions, want 6", a.moves)
		}
		c := joinGroup(t, s)
		until(t, "three members share", settled(a, b, c))
		if a.moves != 8 || b.moves != 2 {
			t.Errorf("the third member took %d and %d partitions, want 2 of each", a.moves-6, b.moves)
		}
		beforeB, beforeC := b.has(topic), c.has(topic)
		a.client.Close()
		until(t, "two members share again", settled(b, c))
		for _, kept := range []struct {
			who    string
			before []int32
			now    []int32
		}{{"b", beforeB, b.has(topic)}, {"c", beforeC, c.has(topic)}} {
			for _, p := range kept.before {
				if !slices.Contains(kept.now, p) {
					t.Errorf("%s lost partition %d when a left", kept.who, p)
				}
			}
		}
		for name, c := range map[string]*consumer{"a": a, "b": b, "c": c} {
			if c.torn {
				t.Errorf("%s owned a partition of some of the topics only", name)
			}
		}
	})
}
