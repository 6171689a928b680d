package processor

import (
	"errors"
	"math/rand/v2"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// replay returns the result of a single member that folds the site's topics from their start and
// publishes into topics of its own.
func (s *site) replay() ([][16]byte, *published) {
	s.t.Helper()
	alone := &site{t: s.t, brokers: s.brokers, partitions: s.partitions, client: s.client,
		topics: testkit.Topics(s.t, s.brokers, s.partitions, 1), group: testkit.UniqueName(s.t, "replay")}
	dir := s.t.TempDir()
	c := alone.config(dir)
	c.Topics.Inputs = s.names().Inputs
	m := alone.start(c).ready(int(s.partitions))
	s.caughtUp(m)
	m.stop()
	return s.digests(c, dir), alone.outputs()
}

// TestRebalanceUnderTraffic takes a group from one member to two, three and back to two while
// events come in. In the end the stores have the digests, and the outputs the newest values, of a
// replay by one member.
func TestRebalanceUnderTraffic(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		const n = 6
		s := newSite(t, env.Brokers, n)
		tr := newTraffic(s, seed, 40)
		dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
		const most = 4000 // events in a phase: limits the work of a slow machine
		during := func(f func()) {
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for range most / 200 {
					select {
					case <-stop:
						return
					default:
						tr.run(200)
					}
				}
			}()
			defer func() { // even if f fails: later events would fail another test
				close(stop)
				<-done
			}()
			f()
		}
		a := s.start(s.config(dirs[0])).ready(n)
		var b, c *member
		during(func() {
			b = s.start(s.config(dirs[1])).ready(n / 2)
			a.ready(n / 2)
		})
		s.caughtUp(a, b)
		during(func() {
			c = s.start(s.config(dirs[2])).ready(n / 3)
			a.ready(n / 3)
			b.ready(n / 3)
		})
		during(func() {
			a.stop()
			b.ready(n / 2)
			c.ready(n / 2)
		})
		s.caughtUp(b, c)
		b.stop()
		c.stop()
		t.Logf("%d events", tr.written)
		s.matchesReplay(1, dirs...)
	})
}

// TestLostPartitionsAreOpenedAgain: the coordinator forgets the member during its work.
// Unacknowledged changes are dropped with the partitions and folded again when the partitions come
// back. In the end nothing is missing. Records published beyond the commits remain beside those
// published later, as with two owners.
func TestLostPartitionsAreOpenedAgain(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 3)
	tr := newTraffic(s, rand.Uint64(), 20)
	dir := t.TempDir()
	m := s.start(s.config(dir)).ready(3)
	for range 5 {
		tr.run(2000)
		before := lostOf(t, m)
		member, _ := m.consumer.GroupMetadata()
		forgotten := k.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID, Count: -1,
			When: func(r kmsg.Request) bool { return r.(*kmsg.HeartbeatRequest).MemberID == member },
		})
		tr.run(2000)
		if err := forgotten.Wait(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		until(t, "the partitions are lost", func() bool { return lostOf(t, m) >= before+3 })
		forgotten.Remove() // the embedded Kafka lets the member join under its old id, and the fault would meet that id again
		m.ready(3)
	}
	s.caughtUp(m)
	m.stop()
	s.matchesReplay(2, dir)
}

// lostOf returns how many partitions a member has lost so far.
func lostOf(t *testing.T, m *member) int {
	t.Helper()
	var lost dto.Metric
	if err := m.metrics.Rebalances.WithLabelValues("lost").Write(&lost); err != nil {
		t.Fatal(err)
	}
	return int(lost.GetCounter().GetValue())
}

// TestPublishedButReportedAsFailed: the broker applies a produce request and answers with an error.
// The client sends it again. Nothing is missing, and no key has two records with the same stamp and
// different bytes.
func TestPublishedButReportedAsFailed(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 2)
	tr := newTraffic(s, rand.Uint64(), 20)
	dir := t.TempDir()
	m := s.start(s.config(dir)).ready(2)
	for _, err := range []*kerr.Error{kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.NotLeaderForPartition} {
		k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: s.names().Unread, Err: err, Count: 3})
		tr.run(1000)
	}
	s.caughtUp(m)
	m.stop()
	published := s.outputs()
	_, replayed := s.replay()
	sameNewest(t, "published", published, replayed)
}

// TestSlowOpeningHoldsUpNobody (B5, B8): while a member opens the store of one partition, another
// joins. Whether it gets that partition or the other one, it is ready long before the first
// member's store is open.
func TestSlowOpeningHoldsUpNobody(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) { slowOpening(t, env.Brokers) })
}

func slowOpening(t *testing.T, brokers []string) {
	for slow := range int32(2) {
		s := newSite(t, brokers, 2)
		last := s.join("general", "alice")
		open := make(chan struct{})
		c := s.config(t.TempDir())
		setup.HooksOf(&c).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
			if id.Partition == slow {
				<-open
			}
			return setup.Open(dir, id, o)
		}
		a := s.start(c)
		until(t, "the first member has begun", func() bool { return len(a.Status()) == 2 })
		if _, err := a.Live(slow); !errors.Is(err, ErrOpening) {
			t.Errorf("a partition that opens: %v", err)
		}
		b := s.start(s.config(t.TempDir())).ready(1)
		close(open)
		a.ready(1)
		for _, m := range []*member{a, b} {
			if _, err := m.Live(last.Partition); err == nil {
				m.unread(last, "alice", "general")
			}
		}
		b.stop()
		a.ready(2) // including the partition whose opening it gave up
		a.unread(last, "alice", "general")
		a.stop()
	}
}
