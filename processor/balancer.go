package processor

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Protocol is the name under which members of a group find that they balance in the same way. Consumers with another
// balancer cannot join the group.
const Protocol = "tidemark-copartition"

// balancer assigns partition numbers: partition p of every input topic goes to the same member, which is what lets one
// goroutine fold a channel's messages, reads and deliveries. It is cooperative (a partition that stays where it is is not
// interrupted) and sticky, first to the owner of a partition, then to a member that has its store on disk.
type balancer struct {
	topics []string // the inputs, in order of name
	data   atomic.Pointer[memberData]
}

func newBalancer(topics []string, data memberData) *balancer {
	b := &balancer{topics: slices.Sorted(slices.Values(topics))}
	b.setData(data)
	return b
}

// setData replaces what this member tells the others. It is sent with the next join.
func (b *balancer) setData(d memberData) {
	d.Held = slices.Compact(slices.Sorted(slices.Values(d.Held)))
	b.data.Store(&d)
}

// ProtocolName implements kgo.GroupBalancer.
func (*balancer) ProtocolName() string { return Protocol }

// IsCooperative implements kgo.GroupBalancer.
func (*balancer) IsCooperative() bool { return true }

// JoinGroupMetadata implements kgo.GroupBalancer. Equal states give equal bytes: a coordinator takes a change of them
// for a reason to rebalance.
func (b *balancer) JoinGroupMetadata(interests []string, current map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version = 3
	meta.Topics = slices.Sorted(slices.Values(interests))
	meta.Generation = generation
	meta.UserData = b.data.Load().encode()
	for _, topic := range sortedKeys(current) {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic = topic
		owned.Partitions = slices.Sorted(slices.Values(current[topic]))
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	return meta.AppendTo(nil)
}

// ParseSyncAssignment implements kgo.GroupBalancer.
func (*balancer) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	return kgo.ParseConsumerSyncAssignment(assignment)
}

// MemberBalancer implements kgo.GroupBalancer.
func (b *balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	cb, err := kgo.NewConsumerBalancer(b, members)
	if err != nil {
		return nil, nil, fmt.Errorf("balance the group: %w", err)
	}
	return cb, cb.MemberTopics(), nil
}

// Balance implements kgo.ConsumerBalancerBalance. A number is assigned if all inputs have that partition: where their
// counts differ the members refuse to open anything, in words, which a failed balance would not let them say.
func (b *balancer) Balance(cb *kgo.ConsumerBalancer, counts map[string]int32) kgo.IntoSyncAssignment {
	n := counts[b.topics[0]]
	for _, topic := range b.topics {
		n = min(n, counts[topic])
	}
	var members []*kmsg.JoinGroupResponseMember
	var candidates []candidate
	cb.EachMember(func(m *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for _, topic := range b.topics {
			if !slices.Contains(meta.Topics, topic) {
				return // it consumes something else; it gets nothing
			}
		}
		members = append(members, m)
		candidates = append(candidates, b.candidate(meta))
	})
	plan := cb.NewPlan()
	for i, numbers := range spread(n, candidates) {
		for _, topic := range b.topics {
			plan.AddPartitions(members[i], topic, slices.Clone(numbers))
		}
	}
	plan.AdjustCooperative(cb)
	b.align(plan)
	return plan
}

// candidate is what a member's metadata says of its claims.
func (b *balancer) candidate(meta *kmsg.ConsumerMemberMetadata) candidate {
	c := candidate{generation: meta.Generation, held: decodeMemberData(meta.UserData).Held}
	for _, owned := range meta.OwnedPartitions {
		if slices.Contains(b.topics, owned.Topic) {
			c.owned = append(c.owned, owned.Partitions...)
		}
	}
	slices.Sort(c.owned)
	c.owned = slices.Compact(c.owned)
	return c
}

// align takes out of a plan the numbers that it holds for some of the topics only. A member that claims a partition of
// one topic and not of the others makes such a plan: what it has to give up first is then missing from it, and the rest
// must wait as well.
func (b *balancer) align(plan *kgo.BalancePlan) {
	for _, topics := range plan.AsMemberIDMap() {
		whole := topics[b.topics[0]]
		for _, topic := range b.topics[1:] {
			has := topics[topic]
			whole = slices.DeleteFunc(slices.Clone(whole), func(p int32) bool { return !slices.Contains(has, p) })
		}
		for _, topic := range b.topics {
			if len(whole) == 0 {
				delete(topics, topic)
				continue
			}
			topics[topic] = slices.Clone(whole)
		}
	}
}
