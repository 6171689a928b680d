package processor

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// bucket returns an empty directory for snapshots.
func bucket(t testing.TB) (snapshot.Bucket, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := snapshot.OpenBucket("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

// with returns a configuration with snapshots.
func (s *site) with(dir string, b snapshot.Bucket) Config {
	c := s.config(dir)
	c.Snapshots = snapshot.New(b, snapshot.Options{Logger: c.Logger})
	return c
}

// snapshots takes a snapshot of everything that is folded of every partition. The store is a little
// behind the fold, so snapshots waits for it.
func (m *member) snapshots(partitions int32) {
	m.t.Helper()
	for n := range partitions {
		at := m.Status()[n].Position
		m.stored(n, at)
		man, _, err := m.Snapshot(context.Background(), n, snapshot.CreateOptions{})
		switch {
		case errors.Is(err, snapshot.ErrUnchanged), errors.Is(err, projections.ErrEmpty):
		case err != nil:
			m.t.Fatal(err)
		case man.Position() != at:
			m.t.Fatalf("the snapshot of partition %d is of position %v, the store was at %v", n, man.Position(), at)
		}
	}
}

// stored waits until the store of a partition is at a position.
func (m *member) stored(n int32, at projections.Position) {
	m.t.Helper()
	until(m.t, "the partition is stored", func() bool {
		p, err := m.Live(n)
		if err != nil {
			return false // the store will catch up
		}
		p.RLock()
		defer p.RUnlock()
		return p.StoredPosition() == at
	})
}

// TestSnapshotsAreTaken: a member takes snapshots at intervals, prunes them to the limit, and takes
// one more during its stop.
func TestSnapshotsAreTaken(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	b, _ := bucket(t)
	tr := newTraffic(s, 10, 10)
	c := s.config(t.TempDir())
	c.Snapshots = snapshot.New(b, snapshot.Options{Keep: 2, Grace: time.Hour})
	c.SnapshotEvery = 20 * time.Millisecond
	m := s.start(c).ready(1)
	last := projections.Position{}
	for range 4 {
		tr.run(50)
		s.caughtUp(m)
		until(t, "there is a newer snapshot", func() bool {
			list, err := c.Snapshots.List(t.Context(), 0)
			if err != nil || len(list) == 0 || list[0].Manifest.Position() == last {
				return false
			}
			last = list[0].Manifest.Position()
			return true
		})
	}
	tr.run(50)
	s.caughtUp(m)
	end := m.Status()[0].Position
	m.stop()
	list, err := c.Snapshots.List(t.Context(), 0)
	if err != nil || len(list) == 0 || list[0].Manifest.Position() != end || !list[0].Current {
		t.Fatalf("after the stop at %v there is %+v, %v", end, list, err)
	}
	if len(list) > 4 { // no prune follows the snapshots of the stop
		t.Errorf("%d snapshots are left of 5 or more, and prune should keep 2", len(list))
	}
	leftovers := 0
	_ = filepath.WalkDir(c.DataDir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.Contains(path, ".checkpoint") {
			leftovers++
		}
		return nil
	})
	if leftovers > 0 {
		t.Error("a checkpoint was left behind")
	}
}
