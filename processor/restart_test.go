package processor

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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
	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
)

// TestReadyAtOnceWithNothingToDo (B1): a first start on empty topics, and a restart at the end, need no record to come.
func TestReadyAtOnceWithNothingToDo(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 3)
		dir := t.TempDir()
		s.start(s.config(dir)).ready(3).stop()
		tr := newTraffic(s, 1, 10)
		tr.run(200)
		m := s.start(s.config(dir)).ready(3)
		s.caughtUp(m)
		m.stop()
		before := s.outputs().count
		s.start(s.config(dir)).ready(3).stop()
		if after := s.outputs().count; after != before {
			t.Errorf("a restart at the end published %d records", after-before)
		}
	})
}

// TestFirstRecordSurvivesARestart (B11): offset 0 is a record, not the absence of one.
func TestFirstRecordSurvivesARestart(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		r := s.join("general", "alice")
		m.unread(r, "alice", "general")
		m.stop()
		if want := (projections.Position{1, 0, 0}); s.committed()[0] != want {
			t.Errorf("committed %v, want %v", s.committed()[0], want)
		}
		m = s.start(s.config(dir)).ready(1)
		if st := m.Status()[0]; st.Position != (projections.Position{1, 0, 0}) {
			t.Errorf("position after the restart is %v", st.Position)
		}
		m.unread(r, "alice", "general")
		m.stop()
		if n := s.outputs().count; n != 2 {
			t.Errorf("%d output records, want the channel and its member once each", n)
		}
	})
}

// committed are the group's offsets, by partition; none where there is none.
func (s *site) committed() []projections.Position {
	s.t.Helper()
	offsets, err := s.admin().FetchOffsets(context.Background(), s.group)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make([]projections.Position, s.partitions)
	for i, topic := range s.names().Inputs {
		for p := range list {
			list[p][i] = none
			if o, ok := offsets.Lookup(topic, int32(p)); ok {
				list[p][i] = o.At
			}
		}
	}
	return list
}

// TestTransactionalTail (B2): the last offset of a log is the end of a transaction, committed or aborted. What was
// aborted is not folded, and a rebuild ends.
func TestTransactionalTail(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		s.join("general", "alice", "bob")
		transact := func(id string, how kgo.TransactionEndTry) {
			cl := testkit.Client(t, s.brokers, kgo.TransactionalID(testkit.UniqueName(t, "tx")))
			if err := cl.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			tr := &traffic{s: s}
			r := tr.record(events.Messages, 0, postBy("channel-0", id, "carol"))
			if err := cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := cl.EndTransaction(context.Background(), how); err != nil {
				t.Fatal(err)
			}
		}
		transact("kept", kgo.TryCommit)
		transact("dropped", kgo.TryAbort)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		s.caughtUp(m) // up to beyond the last marker
		last := &kgo.Record{Topic: s.names().Inputs[0], Offset: s.ends()[0][0] - 1}
		if n := m.unread(last, "alice", "channel-0"); n != 1 {
			t.Errorf("%d messages are there, want the committed one", n)
		}
		m.stop()
		if err := os.RemoveAll(StoreDir(dir, 0)); err != nil {
			t.Fatal(err)
		}
		m = s.start(s.config(dir)).ready(1) // the rebuild ends at the marker, too
		if st := m.Status()[0]; st.Position != s.ends()[0] {
			t.Errorf("rebuilt up to %v, the end is %v", st.Position, s.ends()[0])
		}
	})
}

// TestLostStoreIsRebuiltInSilence: the state comes from the log, and nothing that was published is published again.
func TestLostStoreIsRebuiltInSilence(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		tr := newTraffic(s, rand.Uint64(), 12)
		tr.run(3000)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(2)
		s.caughtUp(m)
		m.stop()
		want, before := s.digests(s.config(dir), dir), s.outputs()
		fresh := t.TempDir()
		m = s.start(s.config(fresh)).ready(2)
		s.caughtUp(m)
		m.stop()
		for p, d := range s.digests(s.config(fresh), fresh) {
			if d != want[p] {
				t.Errorf("partition %d has digest %x after the rebuild, %x before", p, d, want[p])
			}
		}
		if after := s.outputs(); after.count != before.count {
			t.Errorf("the rebuild published %d records", after.count-before.count)
		}
	})
}

// TestKilledMemberFallsBackAndFoldsAgain: a copy of the store from a moment before is what a killed process leaves. What
// was published after it is not published again, what was not is, and the bytes are the same.
func TestKilledMemberFallsBackAndFoldsAgain(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	tr := newTraffic(s, rand.Uint64(), 12)
	dir, old := t.TempDir(), t.TempDir()
	tr.run(500)
	m := s.start(s.config(dir)).ready(1)
	s.caughtUp(m)
	m.stop()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	tr.run(500)
	m = s.start(s.config(dir)).ready(1)
	s.caughtUp(m)
	m.stop()
	tr.run(500)
	committed := s.committed()[0]
	m = s.start(s.config(old)).ready(1)
	if st := m.Status()[0]; st.Position[events.Messages] < committed[events.Messages] {
		t.Errorf("live at %v, before what was committed, %v", st.Position, committed)
	}
	s.caughtUp(m)
	m.stop()
	got, published := s.digests(s.config(old), old), s.outputs()
	want, replayed := s.replay()
	if got[0] != want[0] {
		t.Errorf("digest %x, a replay has %x", got[0], want[0])
	}
	sameNewest(t, "published", published, replayed)
}

// TestTwoOwnersEmitEqualBytes: two groups fold the same topics into the same outputs, at once and with different
// batches. Wherever they stamp alike they say the same, byte for byte (the outputs' reader checks it).
func TestTwoOwnersEmitEqualBytes(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	tr := newTraffic(s, rand.Uint64(), 20)
	a := s.config(t.TempDir())
	b := s.config(t.TempDir())
	b.Group, b.BatchRecords, b.FanoutDelay = s.group+"-zombie", 300, time.Millisecond
	ma, mb := s.start(a).ready(2), s.start(b).ready(2)
	tr.run(20_000)
	s.caughtUp(ma)
	s.caughtUp(mb)
	ma.stop()
	mb.stop()
	da, db := s.digests(a, a.DataDir), s.digests(b, b.DataDir)
	for p := range da {
		if da[p] != db[p] {
			t.Errorf("partition %d has digests %x and %x", p, da[p], db[p])
		}
	}
	both := s.outputsOf(2)
	_, replayed := s.replay()
	sameNewest(t, "published by two", both, replayed)
}

// TestPoisonBecomesADeadLetter: whatever is in the value, the record is copied with its reason, the others are folded,
// and the position moves on for good.
func TestPoisonBecomesADeadLetter(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(2)
		own := events.PartitionOf([]byte("general"), 2)
		poison := map[events.Reason][]byte{
			events.ReasonUndecodable: []byte("\xff\xff\xff"),
			events.ReasonEmptyValue:  nil,
			events.ReasonInvalidID:   []byte(`{"channelId":"general","messagePosted":{"messageId":"","senderId":"u"}}`),
			events.ReasonNoKind:      []byte(`{"channelId":"general"}`),
			events.ReasonTooLarge:    bytes.Repeat([]byte("x"), events.MaxValueBytes+1),
		}
		offsets := map[events.Reason]int64{}
		s.join("general", "alice", "bob")
		for reason, value := range poison {
			offsets[reason] = s.raw(events.Messages, own, []byte("general"), value).Offset
		}
		elsewhere := s.raw(events.Messages, 1-own, []byte("general"), mustMarshal(t, postBy("general", "stray", "carol")))
		last := s.post("general", "m1", "alice")
		if n := m.unread(last, "bob", "general"); n != 1 {
			t.Errorf("bob has %d unread, want 1", n)
		}
		s.caughtUp(m)
		m.stop()
		s.start(s.config(dir)).ready(2).stop() // none of it is met again

		letters := s.deadLetters()
		if len(letters) != len(poison)+1 {
			t.Fatalf("%d dead letters, want %d", len(letters), len(poison)+1)
		}
		for _, r := range letters {
			reason := events.Reason(header(r, HeaderReason))
			partition, offset := own, offsets[reason]
			want := poison[reason]
			if reason == events.ReasonWrongPartition {
				partition, offset, want = 1-own, elsewhere.Offset, elsewhere.Value
			}
			if header(r, HeaderTopic) != s.names().Inputs[0] || header(r, HeaderPartition) != fmt.Sprint(partition) ||
				header(r, HeaderOffset) != fmt.Sprint(offset) || !bytes.Equal(r.Value, want) || string(r.Key) != "general" {
				t.Errorf("%s: headers %v, value of %d bytes, want that of offset %d with %d bytes", reason, r.Headers, len(r.Value), offset, len(want))
			}
		}
	})
}

// deadLetters reads the dead letters.
func (s *site) deadLetters() []*kgo.Record {
	s.t.Helper()
	topic := s.names().DeadLetters
	listed, err := s.admin().ListEndOffsets(context.Background(), topic)
	if err != nil {
		s.t.Fatal(err)
	}
	want := int64(0)
	listed.Each(func(o kadm.ListedOffset) { want += o.Offset })
	client := s.newClient(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer client.Close()
	var all []*kgo.Record
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for int64(len(all)) < want {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, fetches.Records()...)
	}
	return all
}

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

func TestNewerVersionStopsOnlyItsPartition(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 3)
	m := s.start(s.config(t.TempDir())).ready(3)
	own := events.PartitionOf([]byte("general"), 3)
	s.join("general", "alice")
	r := s.raw(events.Messages, own, []byte("general"), []byte(`{"channelId":"general","minVersion":2,"someday":{}}`))
	m.failedWith(own, 3, fmt.Sprintf("%s/%d at offset %d", r.Topic, own, r.Offset), "version 2")
	until(t, "what came before is committed", func() bool { return s.committed()[own][events.Messages] == r.Offset })
	for _, channel := range []string{"a", "b", "c", "d", "e"} {
		if events.PartitionOf([]byte(channel), 3) != own {
			m.unread(s.join(channel, "alice"), "alice", channel)
		}
	}
	if n := len(s.deadLetters()); n != 0 {
		t.Errorf("%d dead letters: a newer version is not bad", n)
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
		if _, err := testkit.Admin(t, s.brokers).CreatePartitions(context.Background(), 1, topics...); err != nil {
			t.Fatal(err)
		}
		m = s.start(s.config(dir))
		m.failedWith(0, 2, "had 1 partitions, now they have 2")
	})
}

// TestRunRefusesTopicsThatDiffer: before the group is joined.
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

// TestOffsetsThatCannotBeReadShow (B12): while the group's offsets cannot be read the member is not ready and says so,
// and it goes on by itself.
func TestOffsetsThatCannotBeReadShow(t *testing.T) {
	k := testkit.FakeKafka(t)
	s := newSite(t, k.ListenAddrs(), 2)
	fault := k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.GroupAuthorizationFailed, Count: -1})
	m := s.start(s.config(t.TempDir()))
	until(t, "the reason is shown", func() bool {
		ok, lines := m.Ready()
		return !ok && strings.Contains(strings.Join(lines, "\n"), "GROUP_AUTHORIZATION_FAILED")
	})
	fault.Remove()
	m.ready(2)
}

func TestWatchAndOwner(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 4)
		ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
		ca.Advertise, cb.Advertise = "http://a:1", "http://b:1"
		a := s.start(ca).ready(4)
		own := events.PartitionOf([]byte("general"), 4)
		w, err := a.Watch(own, "bob")
		if err != nil {
			t.Fatal(err)
		}
		s.join("general", "alice", "bob")
		select {
		case <-w.Signal():
		case <-time.After(20 * time.Second):
			t.Fatal("no signal")
		}
		if got := w.Changed(); len(got) != 1 || got[0] != "general" {
			t.Errorf("changed are %q", got)
		}
		b := s.start(cb).ready(2)
		a.ready(2)
		for p := range int32(4) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			owner, want := a, "http://a:1"
			if _, err := a.Live(p); err != nil {
				owner, want = b, "http://b:1"
			}
			if _, err := owner.Live(p); err != nil {
				t.Errorf("partition %d is live nowhere: %v", p, err)
			}
			for _, asked := range []*member{a, b} {
				var got string
				until(t, "the owner is known", func() bool { got, _ = asked.Owner(ctx, p); return got == want })
			}
		}
		b.stop()
		a.ready(4)
		a.stop()
		if _, open := <-w.Signal(); open {
			if _, open = <-w.Signal(); open {
				t.Error("the signal of a partition that is gone stays open")
			}
		}
	})
}
