package processor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
)

// restored returns the value of the member's counter of restores with this outcome.
func (m *member) restored(outcome string) int {
	return int(counterValue(m.t, m.metrics.Restores.WithLabelValues(outcome)))
}

func (m *member) trimmed(s *site, to projections.Position, partition int32) {
	m.t.Helper()
	trim := kadm.Offsets{}
	for i, topic := range s.names().Inputs {
		trim.Add(kadm.Offset{Topic: topic, Partition: partition, At: to[i]})
	}
	if _, err := testkit.Admin(m.t, s.brokers).DeleteRecords(context.Background(), trim); err != nil {
		m.t.Fatal(err)
	}
}

// TestRestoreWithoutStore: a member with an empty disk starts from the snapshots and publishes
// nothing again, even if the log is gone. The final state equals that of a replay of the whole log.
func TestRestoreWithoutStore(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		const n = 2
		s := newSite(t, env.Brokers, n)
		b, _ := bucket(t)
		tr := newTraffic(s, 3, 20)
		tr.run(500)
		m := s.start(s.with(t.TempDir(), b)).ready(n)
		s.caughtUp(m)
		m.snapshots(n)
		tr.run(300)
		s.caughtUp(m)
		m.stop()

		dir := t.TempDir()
		m = s.start(s.with(dir, b)).ready(n)
		if got := m.restored("done"); got != n {
			t.Errorf("%d partitions were restored, not %d", got, n)
		}
		tr.run(200)
		s.caughtUp(m)
		m.stop()
		s.matchesReplay(1, dir)
		if left, _ := filepath.Glob(filepath.Join(dir, "*.*")); len(left) > 0 {
			t.Errorf("the restore left %v", left)
		}
	})
}

// TestRestoreWhenTheLogIsTrimmed: the log reaches back to a snapshot, but no longer to the store.
// Without a snapshot the partition is refused.
func TestRestoreWhenTheLogIsTrimmed(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		b, at := bucket(t)
		old, dir := t.TempDir(), t.TempDir()
		tr := newTraffic(s, 4, 10)
		m := s.start(s.with(old, b)).ready(1)
		s.caughtUp(m)
		m.stop()
		tr.run(300)
		m = s.start(s.with(dir, b)).ready(1)
		s.caughtUp(m)
		m.snapshots(1)
		m.trimmed(s, m.Status()[0].Position, 0)
		m.stop()
		tr.run(50)

		m = s.start(s.config(old))
		until(t, "it is refused", func() bool { st := m.Status(); return len(st) == 1 && st[0].State == StateFailed })
		if err := m.Status()[0].Err; !strings.Contains(err.Error(), "the log begins at offset") {
			t.Errorf("without snapshots: %v", err)
		}
		m.stop()
		m = s.start(s.with(old, b)).ready(1)
		s.caughtUp(m)
		m.stop()
		if got, want := s.digests(s.config(""), old)[0], s.digestAfter(dir); got != want {
			t.Errorf("by way of the snapshot the digest is %x, by way of the store %x", got, want)
		}

		// A damaged store on disk does not help either.
		if err := os.RemoveAll(filepath.Join(at, "partition-0", "files")); err != nil {
			t.Fatal(err)
		}
		m = s.start(s.with(t.TempDir(), b))
		until(t, "it is refused", func() bool { st := m.Status(); return len(st) == 1 && st[0].State == StateFailed })
		if err := m.Status()[0].Err; !strings.Contains(err.Error(), "the log begins at offset") || !strings.Contains(err.Error(), "no snapshot helps") ||
			!strings.Contains(err.Error(), "is missing") {
			t.Errorf("with a damaged snapshot: %v", err)
		}
		m.stop()
	})
}

// digestAfter folds the rest of the log with the store in dir.
func (s *site) digestAfter(dir string) [16]byte {
	m := s.start(s.config(dir)).ready(1)
	s.caughtUp(m)
	m.stop()
	return s.digests(s.config(""), dir)[0]
}

// TestRestoreFallsBack: the newest snapshot is damaged, so the member uses the one before it. Then
// that one is damaged too, and the member folds the log.
func TestRestoreFallsBack(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		b, at := bucket(t)
		tr := newTraffic(s, 5, 10)
		m := s.start(s.with(t.TempDir(), b)).ready(1)
		var positions []projections.Position
		for range 2 {
			tr.run(200)
			s.caughtUp(m)
			m.snapshots(1)
			positions = append(positions, m.Status()[0].Position)
		}
		m.stop()
		list, err := m.cfg.Snapshots.List(t.Context(), 0)
		if err != nil || len(list) != 2 || list[1].Manifest.Position() != positions[0] {
			t.Fatalf("%d snapshots are listed, want those at %v: %v", len(list), positions, err)
		}
		named := map[string]bool{}
		for _, f := range list[1].Manifest.Files {
			named[f.Object] = true
		}
		for _, f := range list[0].Manifest.Files { // the files that only the newest has
			if !named[f.Object] {
				if err := os.Truncate(filepath.Join(at, "partition-0", f.Object), f.Size/2); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, failed := range []int{1, 2} {
			dir := t.TempDir()
			m = s.start(s.with(dir, b)).ready(1)
			s.caughtUp(m)
			if m.restored("failed") != failed || m.restored("done") != 2-failed {
				t.Errorf("%d restores failed and %d succeeded, want %d and %d", m.restored("failed"), m.restored("done"), failed, 2-failed)
			}
			m.stop()
			s.matchesReplay(1, dir)
			for object := range named {
				_ = os.Remove(filepath.Join(at, "partition-0", object))
			}
		}
	})
}
