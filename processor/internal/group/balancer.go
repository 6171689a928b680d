package group

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/guard"
)

// Protocol is the balancer's name in the group. Consumers with another balancer cannot join the
// group.
const Protocol = "tidemark-copartition"

// Balancer assigns partition numbers. Partition p of every input topic goes to the same member, so
// that one goroutine folds a channel's messages, reads and deliveries. It is cooperative: a
// partition that stays with its member is not interrupted. It is sticky: a partition goes first to
// its owner, then to a member that tails it, then to one that has its store on disk. It also
// decides which members tail which partitions; the user data of the assignments carries that.
//
// The client calls the balancer in goroutines of its own. A panic fails only the current join, and
// the client joins again.
type Balancer struct {
	topics []string // the inputs, in order of name
	Near   int64    // records that a new owner may lack in an orderly handover
	data   atomic.Pointer[MemberData]

	Positions func() map[int32]int64                   // positions of this member's open partitions; nil: none
	Assigned  func(owned map[string][]int32, d Duties) // called before the client acts on an assignment; may be nil
}

// NewBalancer creates the balancer of a member that consumes topics (the inputs) and publishes data
// to the group.
func NewBalancer(topics []string, data MemberData) *Balancer {
	b := &Balancer{topics: slices.Sorted(slices.Values(topics))}
	b.SetData(data)
	return b
}

// SetData replaces the data that this member publishes. The next join sends it.
func (b *Balancer) SetData(d MemberData) {
	d.Stores = slices.Compact(slices.Sorted(slices.Values(d.Stores)))
	b.data.Store(&d)
}

// ProtocolName implements kgo.GroupBalancer.
func (*Balancer) ProtocolName() string { return Protocol }

// IsCooperative implements kgo.GroupBalancer.
func (*Balancer) IsCooperative() bool { return true }

// JoinGroupMetadata implements kgo.GroupBalancer. Equal states give equal bytes, because a
// coordinator rebalances when they change. Positions may be part of them, because a member joins
// only when there is a reason to rebalance.
func (b *Balancer) JoinGroupMetadata(interests []string, current map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version = 3
	meta.Topics = slices.Sorted(slices.Values(interests))
	meta.Generation = generation
	data := *b.data.Load()
	if b.Positions != nil {
		// Without positions only handovers are less well balanced.
		_ = guard.Do("telling the group of positions", func() { data.At = b.Positions() })
	}
	meta.UserData = data.encode()
	for _, topic := range slices.Sorted(maps.Keys(current)) {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic = topic
		owned.Partitions = slices.Sorted(slices.Values(current[topic]))
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	return meta.AppendTo(nil)
}

// ParseSyncAssignment implements kgo.GroupBalancer.
func (b *Balancer) ParseSyncAssignment(assignment []byte) (owned map[string][]int32, err error) {
	defer guard.Recover("taking the group's assignment", &err)
	owned, err = kgo.ParseConsumerSyncAssignment(assignment)
	if err != nil {
		return nil, fmt.Errorf("the group's assignment cannot be read: %w", err)
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(assignment); err != nil {
		return nil, fmt.Errorf("the group's assignment cannot be read: %w", err)
	}
	if b.Assigned != nil {
		b.Assigned(owned, decodeDuties(a.UserData))
	}
	return owned, nil
}

// MemberBalancer implements kgo.GroupBalancer.
func (b *Balancer) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	cb, err := kgo.NewConsumerBalancer(b, members)
	if err != nil {
		return nil, nil, fmt.Errorf("balance the group: %w", err)
	}
	return cb, cb.MemberTopics(), nil
}

// Balance implements kgo.ConsumerBalancerBalance. It assigns a number if all inputs have that
// partition. If their counts differ, the members refuse to open anything and report why; failing
// here would hide the reason.
func (b *Balancer) Balance(cb *kgo.ConsumerBalancer, counts map[string]int32) (plan kgo.IntoSyncAssignment) {
	if err := guard.Do("balancing the group", func() { plan = b.balance(cb, counts) }); err != nil {
		cb.SetError(err)
		return nil
	}
	return plan
}

func (b *Balancer) balance(cb *kgo.ConsumerBalancer, counts map[string]int32) *dutyPlan {
	n := counts[b.topics[0]]
	for _, topic := range b.topics {
		n = min(n, counts[topic])
	}
	var members []*kmsg.JoinGroupResponseMember
	var candidates []candidate
	rules := spreadRules{near: b.Near}
	cb.EachMember(func(m *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		for _, topic := range b.topics {
			if !slices.Contains(meta.Topics, topic) {
				return // it consumes other topics, and gets nothing
			}
		}
		members = append(members, m)
		data := decodeMemberData(meta.UserData)
		candidates = append(candidates, b.candidate(meta, &data))
		rules.standbys = max(rules.standbys, data.Standbys) // so that every possible leader computes the same
	})
	s := spread(n, candidates, rules)
	plan := cb.NewPlan()
	for i, numbers := range s.owned {
		for _, topic := range b.topics {
			plan.AddPartitions(members[i], topic, slices.Clone(numbers))
		}
	}
	plan.AdjustCooperative(cb)
	b.align(plan)
	p := &dutyPlan{plan: plan, duties: map[string]Duties{}}
	for i, m := range members {
		d := Duties{Standby: s.standby[i], Warming: s.warming[i]}
		// The new owner tails a number until its present owner has given it up.
		given := plan.AsMemberIDMap()[m.MemberID][b.topics[0]]
		for _, number := range s.owned[i] {
			if !slices.Contains(given, number) {
				d.Standby = append(d.Standby, number)
			}
		}
		slices.Sort(d.Standby)
		p.duties[m.MemberID] = d
	}
	return p
}

// dutyPlan is a plan with the duties of each member.
type dutyPlan struct {
	plan   *kgo.BalancePlan
	duties map[string]Duties // by member id
}

// IntoSyncAssignment implements kgo.IntoSyncAssignment.
func (p *dutyPlan) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment {
	all := p.plan.IntoSyncAssignment()
	for i := range all {
		var a kmsg.ConsumerMemberAssignment
		d := p.duties[all[i].MemberID]
		err := guard.Err("telling a member of its duties", func() error {
			if err := a.ReadFrom(all[i].MemberAssignment); err != nil {
				return err
			}
			a.UserData = d.encode()
			return nil
		})
		if err == nil { // on an error the plan has no duties, which are optional
			all[i].MemberAssignment = a.AppendTo(nil)
		}
	}
	return all
}

// candidate returns the claims in a member's metadata.
func (b *Balancer) candidate(meta *kmsg.ConsumerMemberMetadata, data *MemberData) candidate {
	c := candidate{generation: meta.Generation, stores: data.Stores, at: data.At}
	for _, owned := range meta.OwnedPartitions {
		if slices.Contains(b.topics, owned.Topic) {
			c.owned = append(c.owned, owned.Partitions...)
		}
	}
	slices.Sort(c.owned)
	c.owned = slices.Compact(c.owned)
	return c
}

// align removes the numbers that a plan assigns for only some of the topics. Such a plan results
// from a member that claims a partition in only some of the topics. It must first give up that
// claim, so the other topics must wait as well.
func (b *Balancer) align(plan *kgo.BalancePlan) {
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
