package processor

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/group"
)

// TestGroupOneTwoThreeTwo: at any time one member has partition p of all three topics. In the end
// the counts are even. Only partitions that must move do.
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

// consumer is a bare group member that records what it owns.
type consumer struct {
	client *kgo.Client
	mu     sync.Mutex
	owned  map[string][]int32
	torn   bool // it once owned a partition of only some topics
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
		kgo.Balancers(group.NewBalancer(inputs[:], group.MemberData{})), kgo.DisableAutoCommit(),
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
