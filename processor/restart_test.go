package processor

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/outputs"
	"github.com/tidemark/tidemark/projections"
)

// TestReadyAtOnceWithNothingToDo (B1): a first start on empty topics, and a restart at the end of
// the log, need no further record to be ready.
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

// committed returns the group's offsets, by partition; zero if there is none.
func (s *site) committed() []projections.Position {
	s.t.Helper()
	offsets, err := s.admin().FetchOffsets(context.Background(), s.group)
	if err != nil {
		s.t.Fatal(err)
	}
	list := make([]projections.Position, s.partitions)
	for i, topic := range s.names().Inputs {
		for p := range list {
			list[p][i] = outputs.None
			if o, ok := offsets.Lookup(topic, int32(p)); ok {
				list[p][i] = o.At
			}
		}
	}
	return list
}

// TestTransactionalTail (B2): the last offset of a log is the end of a transaction, committed or
// aborted. Aborted records are not folded, and a rebuild ends.
func TestTransactionalTail(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		s.join("general", "alice", "bob")
		transact := func(id string, how kgo.TransactionEndTry) (marker int64) {
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
			return r.Offset + 1
		}
		// One transaction in a hundred is aborted on the embedded broker although the broker has
		// confirmed its commit to the client.
		for !s.commits(transact("kept", kgo.TryCommit)) {
			t.Log("the broker has aborted what was committed: once more")
		}
		transact("dropped", kgo.TryAbort)
		dir := t.TempDir()
		m := s.start(s.config(dir)).ready(1)
		s.caughtUp(m) // up to the offset after the last marker
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

// commits reports whether the marker at this offset of the first input's first partition commits.
func (s *site) commits(marker int64) bool {
	s.t.Helper()
	topic := s.names().Inputs[events.Messages]
	cl := testkit.Client(s.t, s.brokers, kgo.KeepControlRecords(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		topic: {0: kgo.NewOffset().At(marker)},
	}))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	records := cl.PollFetches(ctx).Records()
	if len(records) == 0 || records[0].Offset != marker || !records[0].Attrs.IsControl() || len(records[0].Key) < 4 {
		s.t.Fatalf("%s/0/%d is not the marker of a transaction", topic, marker)
	}
	const commit = 1 // the key has a version and this, two bytes each
	return records[0].Key[3] == commit
}

// TestLostStoreIsRebuiltInSilence: the state comes from the log, and nothing that was published is
// published again.
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

// TestKilledMemberFallsBackAndFoldsAgain: an earlier copy of its store simulates a killed process.
// The next process does not publish again what was committed, and publishes the rest. The state and
// the outputs are those of a replay.
func TestKilledMemberFallsBackAndFoldsAgain(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
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
	})
}

// TestQuietPartitionOutlivesItsLog (B6): a partition had no records for long, and retention deleted
// its log up to the end. A member that is cut off from the brokers and stops has everything on
// disk: its store is at the end of the log, and the next member continues from there.
func TestQuietPartitionOutlivesItsLog(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		dir := t.TempDir()
		var w wire
		c := s.config(dir)
		c.ClientOptions = append(c.ClientOptions, kgo.Dialer(w.dial), kgo.SessionTimeout(2*time.Second)) // the next member waits for its end
		c.StopTimeout = time.Second
		m := s.start(c).ready(1)
		s.join("general", "alice", "bob")
		s.read("general", "bob", "m1")
		m.unread(s.post("general", "m1", "alice"), "bob", "general")
		end := s.ends()[0]
		m.stored(0, end)
		m.trimmed(s, end, 0)
		w.kill()
		m.stop()
		m = s.start(s.config(dir)).ready(1)
		if st := m.Status()[0]; st.Position != end {
			t.Errorf("live at %v, the store was at %v", st.Position, end)
		}
		if n := m.unread(s.post("general", "m2", "alice"), "bob", "general"); n != 1 {
			t.Errorf("bob has %d unread, want 1", n)
		}
	})
}
