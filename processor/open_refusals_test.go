package processor

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// failedWith waits until a partition has failed and checks its error, and that the others are live.
func (m *member) failedWith(partition int32, partitions int, texts ...string) {
	m.t.Helper()
	until(m.t, fmt.Sprintf("partition %d fails and the others are live", partition), func() bool {
		live := 0
		failed := false
		for _, st := range m.Status() {
			failed = failed || st.Partition == partition && st.State == StateFailed
			if st.State == StateLive {
				live++
			}
		}
		return failed && live == partitions-1
	})
	_, err := m.Live(partition)
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			m.t.Errorf("error %v, want %q in it", err, text)
		}
	}
	if ok, lines := m.Ready(); ok || !strings.Contains(strings.Join(lines, "\n"), texts[0]) {
		m.t.Errorf("ready %v with %q", ok, lines)
	}
}

func TestLogTrimmedBeyondThePosition(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		dir := t.TempDir()
		own := events.PartitionOf([]byte("general"), 2)
		m := s.start(s.config(dir)).ready(2)
		m.unread(s.join("general", "alice"), "alice", "general")
		m.stop()
		s.post("general", "m1", "alice")
		s.post("general", "m2", "alice")
		trim := kadm.Offsets{}
		trim.Add(kadm.Offset{Topic: s.names().Inputs[0], Partition: own, At: 3})
		if _, err := testkit.Admin(t, s.brokers).DeleteRecords(context.Background(), trim); err != nil {
			t.Fatal(err)
		}
		m = s.start(s.config(dir))
		m.failedWith(own, 2, "the log begins at offset 3, and the store at 1: records 1 to 2 are gone")
	})
}

func TestTopicCreatedAgain(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		m.unread(s.join("general", "alice"), "alice", "general")
		m.stop()
		adm, topic := testkit.Admin(t, s.brokers), s.names().Inputs[1]
		if _, err := adm.DeleteTopics(context.Background(), topic); err != nil {
			t.Fatal(err)
		}
		until(t, "the topic is gone and made anew", func() bool {
			report, err := kafkaadmin.Ensure(context.Background(), adm, []events.TopicSpec{{Name: topic, Partitions: 1, Replication: 1}})
			return err == nil && len(report.Created) == 1
		})
		m = s.start(s.config(dir))
		m.failedWith(0, 1, "deleted and created again")
	})
}

func TestPartitionsAdded(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		m.unread(s.join("general", "alice"), "alice", "general")
		m.stop()
		names := s.names()
		topics := append(names.Inputs[:], names.Unread, names.Channels, names.Receipts)
		adm := testkit.Admin(t, s.brokers)
		if _, err := adm.CreatePartitions(context.Background(), 1, topics...); err != nil {
			t.Fatal(err)
		}
		until(t, "the broker has the new partitions", func() bool { // a client that starts before may not see them for minutes
			list, err := adm.ListTopics(context.Background(), topics...)
			for _, topic := range list {
				if err != nil || topic.Err != nil || len(topic.Partitions) != 2 {
					return false
				}
			}
			return err == nil
		})
		m = s.start(s.config(dir))
		m.failedWith(0, 2, "had 1 partitions, now they have 2")
	})
}

// TestRunRefusesTopicsThatDiffer: Run refuses them before it joins the group.
func TestRunRefusesTopicsThatDiffer(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	if _, err := testkit.Admin(t, s.brokers).CreatePartitions(context.Background(), 1, s.names().Inputs[2]); err != nil {
		t.Fatal(err)
	}
	p, err := New(s.config(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "has 2 partitions and topic") {
		t.Errorf("Run: %v", err)
	}
	c := s.config(t.TempDir())
	c.Topics.Inputs[0] = "nowhere"
	if p, err = New(c); err != nil {
		t.Fatal(err)
	}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("Run: %v", err)
	}
}
