package processor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/checker"
	"github.com/tidemark/tidemark/projections"
)

// TestStalledMember: amid traffic, a member's line is frozen for ten sessions. The other member
// takes its partitions over. When the first one wakes up, it still believes that it owns them.
func TestStalledMember(t *testing.T) {
	for _, standbys := range []int{0, 1} {
		inBubble(t, 4, 1, func(_ *testing.T, b *bubble) {
			b.cfg.Standbys = standbys
			b.join()
			b.warm()
			b.tr.write(300)
			stalled, other := b.of[0], b.of[1]
			stalled.line.Freeze()
			b.tr.write(100)
			other.ready(4)
			b.tr.write(100)
			b.caughtUp(other.member)
			time.Sleep(time.Minute)
			stalled.line.Mend()
			b.tr.write(300)
			b.check(true)
		})
	}
}

// TestBrokersSilentForAnHour: for an hour no request of any member is answered, and none fails.
// Pending produce and commit requests may have been applied or not. Queries continue with the
// folded state.
func TestBrokersSilentForAnHour(t *testing.T) {
	inBubble(t, 4, 2, func(t *testing.T, b *bubble) {
		b.tr.write(300)
		for _, m := range b.of {
			m.line.Freeze()
		}
		b.tr.write(300)
		time.Sleep(time.Second)
		answering := 0
		for _, m := range b.of {
			for n := range b.partitions {
				if _, err := m.Live(n); err == nil {
					answering++
				}
			}
		}
		if answering != int(b.partitions) {
			t.Errorf("%d of %d partitions answer queries while no broker does", answering, b.partitions)
		}
		time.Sleep(time.Hour)
		for _, m := range b.of {
			m.line.Mend()
		}
		b.tr.write(300)
		b.check(true)
	})
}

// TestLeadersMove: the leaders of all partitions of all topics move repeatedly.
// (TestBrokersComeAndGo stops and restarts real brokers.)
func TestLeadersMove(t *testing.T) {
	onTheClock(t, 4, 2, func(_ *testing.T, b *bubble) {
		for range 10 {
			b.k.ShufflePartitionLeaders()
			b.tr.write(100)
		}
		b.check(true)
	})
}

// TestCoordinatorsMove: the group's coordinator moves repeatedly, also in the middle of a
// rebalance.
func TestCoordinatorsMove(t *testing.T) {
	onTheClock(t, 4, 1, func(_ *testing.T, b *bubble) {
		for round := range 8 {
			b.k.RehashCoordinators()
			b.k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat, kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.SyncGroup},
				Err: kerr.NotCoordinator, Count: 3})
			b.tr.write(100)
			if round == 3 {
				b.join()
			}
		}
		b.check(true)
	})
}

// TestRecordsDeletedBelowThePosition: retention up to the folded position of a running member
// disturbs no member. Neither does retention up to the stored position of a stopped one.
func TestRecordsDeletedBelowThePosition(t *testing.T) {
	inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
		b.tr.write(300)
		b.settled()
		for range 3 {
			time.Sleep(time.Second) // written and committed
			for n, end := range b.ends() {
				b.deleteBefore(t, int32(n), end)
			}
			b.tr.write(100)
			b.settled()
		}
		m := b.of[0]
		m.stop()
		b.tr.write(100)
		for n, at := range b.committed() {
			b.deleteBefore(t, int32(n), at)
		}
		b.restart(m)
		b.settled()
		m.stop()
		// The beginning of the log is gone, so no model can be made of it. It is enough that no
		// store was refused.
		b.digests(b.cfg, m.dir)
	})
}

func (b *bubble) deleteBefore(t *testing.T, partition int32, at projections.Position) {
	t.Helper()
	for in, topic := range b.names().Inputs {
		if err := b.k.DeleteRecords(topic, partition, at[in]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecordsDeletedBeforeTheyAreFolded: a member is cut off for so long that retention deletes
// records that it has not folded. The partition stops with an error that names the gap, the other
// one continues; a restart reports the same.
func TestRecordsDeletedBeforeTheyAreFolded(t *testing.T) {
	inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
		m := b.of[0]
		own := events.PartitionOf([]byte("general"), 2)
		last := b.site.join("general", "alice")
		m.unread(last, "alice", "general")
		m.line.Freeze()
		b.post("general", "m1", "alice")
		time.Sleep(time.Second) // ends the pending fetch: the member gets no later record
		b.post("general", "m2", "alice")
		last = b.post("general", "m3", "alice")
		if err := b.k.DeleteRecords(last.Topic, own, last.Offset); err != nil {
			t.Fatal(err)
		}
		m.line.Mend()
		m.failedWith(own, 2, "are gone")
		m.stop()
		b.restart(m)
		m.failedWith(own, 2, "are gone")
	})
}

// TestTopicCreatedAgainWhileRunning: an input topic is deleted and created again under a running
// member. No record of the new topic is folded into the state of the old one, and the log has one
// line that the partition stops, although the client reports the topic with each fetch.
func TestTopicCreatedAgainWhileRunning(t *testing.T) {
	onTheClock(t, 2, 1, func(t *testing.T, b *bubble) {
		var log logBuffer
		b.of[0].stop()
		b.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		b.restart(b.of[0])
		b.settled()
		m := b.of[0]
		own := events.PartitionOf([]byte("general"), 2)
		m.unread(b.site.join("general", "alice"), "alice", "general")
		before := m.progressOf(own)
		topic := b.names().Inputs[events.Messages]
		adm := b.admin()
		if _, err := adm.DeleteTopics(context.Background(), topic); err != nil {
			t.Fatal(err)
		}
		until(t, "the topic is made anew", func() bool {
			report, err := kafkaadmin.Ensure(context.Background(), adm, []events.TopicSpec{{Name: topic, Partitions: 2, Replication: 3}})
			return err == nil && len(report.Created) == 1
		})
		b.client = b.newClient(kgo.RecordPartitioner(kgo.ManualPartitioner())) // the old client keeps the deleted topic
		for i := range 20 {
			b.post("general", fmt.Sprint("n", i), "bob")
		}
		m.failedWith(own, 1, "deleted", "created again")
		if at := m.progressOf(own); at[events.Messages] != before[events.Messages] {
			t.Errorf("the position in the messages is %d, it was %d: records of another topic were folded", at[events.Messages], before[events.Messages])
		}
		m.stop()
		if n := strings.Count(log.String(), fmt.Sprintf(`msg="partition stops" partition=%d `, own)); n != 1 {
			t.Errorf("the log says %d times that the partition stops:\n%s", n, log.String())
		}
		b.restart(m)
		m.failedWith(own, 1, "deleted and created again")
	})
}

// TestRetention: the broker's own retention, by size, deletes records of the inputs. A member that
// keeps up is not disturbed. A member that comes back with a store older than the rest of the log
// refuses to open it.
func TestRetention(t *testing.T) {
	inBubble(t, 1, 1, func(t *testing.T, b *bubble) {
		m := b.of[0]
		limit := "2000"
		var configs []kadm.AlterConfig
		for _, name := range []string{"retention.bytes", "segment.bytes"} {
			configs = append(configs, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: &limit})
		}
		inputs := b.names().Inputs
		if _, err := b.admin().AlterTopicConfigs(context.Background(), configs, inputs[:]...); err != nil {
			t.Fatal(err)
		}
		start := func() int64 { return b.k.PartitionInfo(inputs[0], 0).LogStartOffset }
		for range 4 {
			b.tr.write(200)
			b.settled()
			b.k.ApplyRetention()
		}
		if start() == 0 {
			t.Fatal("nothing was deleted")
		}
		b.settled()
		m.stop()
		at := b.committed()[0][events.Messages]
		for start() <= at {
			b.tr.write(200)
			b.k.ApplyRetention()
		}
		b.restart(m)
		m.failedWith(0, 1, "are gone")
	})
}

// TestOutputsCompacted: compaction of the outputs leaves everything that a later reader needs.
func TestOutputsCompacted(t *testing.T) {
	inBubble(t, 2, 1, func(t *testing.T, b *bubble) {
		unread := b.names().Unread
		count := func() (n int) { return len(b.records(unread)) }
		for range 5 {
			b.tr.write(300)
			b.settled()
			b.of[0].stop()
			b.restart(b.of[0])
		}
		b.settled()
		before := count()
		b.k.Compact()
		if after := count(); after >= before {
			t.Fatalf("%d records, %d before the compaction", after, before)
		}
		var late checker.Mirror
		for _, r := range b.records(unread) {
			if err := late.Apply(r.Value); err != nil {
				t.Fatal(err)
			}
		}
		late.Check(b.remains(b.cfg.Settings).log).Report(t)
	})
}

// progressOf returns a member's position in a partition.
func (m *seat) progressOf(n int32) projections.Position {
	for _, st := range m.Status() {
		if st.Partition == n {
			return st.Position
		}
	}
	return projections.Position{}
}
