package processor

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// moved returns how many partitions a member was assigned, had revoked and lost.
func (m *member) moved() map[string]int {
	m.t.Helper()
	moved := map[string]int{}
	for _, how := range []string{"assigned", "revoked", "lost"} {
		var v dto.Metric
		if err := m.metrics.Rebalances.WithLabelValues(how).Write(&v); err != nil {
			m.t.Fatal(err)
		}
		moved[how] = int(v.GetCounter().GetValue())
	}
	return moved
}

// numbers returns the partitions that a member owns.
func (m *member) numbers() []int32 {
	var all []int32
	for _, st := range m.Status() {
		all = append(all, st.Partition)
	}
	return all
}

// TestStaticMemberComesBack: a process that stops and starts again under its instance id gets its
// partitions back. The other member notices nothing, whichever of the two leads the group, although
// it tails what the other owns. The embedded broker rebalances where Apache Kafka does not: with
// standbys the other member would take over there.
func TestStaticMemberComesBack(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 4
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, rand.Uint64(), 20)
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		ca.InstanceID, cb.InstanceID = "node-a", "node-b"
		if env.Real {
			ca.Standbys, cb.Standbys = 1, 1
		}
		b := s.start(cb).ready(n) // the first member leads the group
		a := s.start(ca).ready(n / 2)
		b.ready(n / 2)
		tr.run(500)
		s.caughtUp(a, b)
		for range 2 {
			if env.Real {
				a.follows(s, n/2)
				b.follows(s, n/2)
			}
			before, had := b.moved(), a.numbers()
			a.stop()
			tr.run(500)
			a = s.start(ca).ready(n / 2)
			s.caughtUp(a, b)
			if now := a.numbers(); !reflect.DeepEqual(now, had) {
				t.Errorf("it came back with partitions %v, it had %v", now, had)
			}
			if now := b.moved(); !reflect.DeepEqual(now, before) {
				t.Errorf("partitions of the other member moved: %v, before %v", now, before)
			}
			a, b, ca, cb = b, a, cb, ca
		}
		a.stop()
		b.stop()
		s.matchesReplay(1, ca.DataDir, cb.DataDir)
	})
}

// TestInstanceIDTwice: a member that loses its place to another process with its id reports why.
func TestInstanceIDTwice(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		ca.InstanceID, cb.InstanceID = "node", "node"
		a := s.start(ca).ready(1)
		s.start(cb)
		until(t, "the first says that it was fenced", func() bool {
			ok, lines := a.Ready()
			return !ok && strings.Contains(strings.Join(lines, "\n"), `another process has joined the group with the instance id "node"`)
		})
	})
}
