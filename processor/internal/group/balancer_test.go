package group

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

func TestJoinMetadataIsDeterministic(t *testing.T) {
	b := NewBalancer([]string{"m", "r", "d"}, MemberData{Advertise: "http://a:1", Stores: []int32{3, 1, 3}})
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
	if d := decodeMemberData(meta.UserData); d.Advertise != "http://a:1" || !slices.Equal(d.Stores, []int32{1, 3}) {
		t.Errorf("member data is %+v", d)
	}
	if meta.Generation != 4 || len(meta.OwnedPartitions) != 3 {
		t.Errorf("generation %d, owned %v", meta.Generation, meta.OwnedPartitions)
	}
}

func TestMemberDataFromOthers(t *testing.T) {
	d := MemberData{Advertise: "http://a:1", RelayKey: "key", Stores: []int32{0, 7}, Settings: "fanout-limit 50"}
	newer := append(d.encode(), 0x72, 2, 'h', 'i', 0x78, 5) // fields 14 and 15 of a later version
	if got := decodeMemberData(newer); got.Advertise != d.Advertise || got.RelayKey != d.RelayKey || !slices.Equal(got.Stores, d.Stores) || got.Settings != d.Settings {
		t.Errorf("got %+v, want %+v: unknown fields are left out", got, d)
	}
	for _, b := range [][]byte{nil, {0xFF}, []byte("not a message"), {0x0A, 200, 1}, {0x12, 1, 0x80}} {
		decodeMemberData(b) // must not panic, whatever the bytes are
	}
	if got := decodeMemberData((&MemberData{Advertise: strings.Repeat("x", maxAdvertise+1)}).encode()); got.Advertise != "" {
		t.Error("a URL beyond the limit was believed")
	}
	if got := decodeMemberData((&MemberData{RelayKey: strings.Repeat("x", maxRelayKey+1)}).encode()); got.RelayKey != "" {
		t.Error("a key beyond the limit was believed")
	}
	if got := decodeMemberData((&MemberData{Settings: strings.Repeat("x", maxSettings+1)}).encode()); got.Settings != "" {
		t.Error("settings beyond the limit were believed")
	}
}

// plan balances members as a leader would and returns the assignment by member id.
func (b *Balancer) plan(t *testing.T, counts map[string]int32, members map[string][]byte) map[string]map[string][]int32 {
	t.Helper()
	var joined []kmsg.JoinGroupResponseMember
	for _, id := range slices.Sorted(maps.Keys(members)) {
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

// TestBalanceKeepsTornClaimsTogether: a member claims a partition of only one topic. No other
// member may get the partition of the other topics before the first has released its claim.
func TestBalanceKeepsTornClaimsTogether(t *testing.T) {
	topics := []string{"d", "m", "r"}
	b := NewBalancer(topics, MemberData{})
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
	b := NewBalancer(topics, MemberData{})
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

// A panic in a goroutine of the client costs a join its positions, or fails it.
func TestPanicInTheBalancer(t *testing.T) {
	b := NewBalancer([]string{"m", "r", "d"}, MemberData{})
	members := map[string][]byte{"a": b.JoinGroupMetadata([]string{"m", "r", "d"}, nil, 0)}
	plan := func() error {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.ProtocolMetadata = "a", members["a"]
		mb, _, err := b.MemberBalancer([]kmsg.JoinGroupResponseMember{m})
		if err != nil {
			t.Fatal(err)
		}
		_, err = mb.(kgo.GroupMemberBalancerOrError).BalanceOrError(map[string]int32{"m": 1, "r": 1, "d": 1})
		return err
	}
	if err := plan(); err != nil {
		t.Fatal(err)
	}
	b.Positions = func() map[int32]int64 { panic("planted") }
	if got := b.JoinGroupMetadata([]string{"m", "r", "d"}, nil, 0); !slices.Equal(got, members["a"]) {
		t.Errorf("the metadata is %q, want that without positions", got)
	}
	b.Assigned = func(map[string][]int32, Duties) { panic("planted") }
	assignment := kmsg.NewConsumerMemberAssignment()
	if _, err := b.ParseSyncAssignment(assignment.AppendTo(nil)); guard.Of(err) == nil {
		t.Errorf("taking an assignment: %v", err)
	}
	b.topics = nil // Balance then finds no first topic
	if err := plan(); guard.Of(err) == nil {
		t.Errorf("balancing: %v", err)
	}
}
