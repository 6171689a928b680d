package processor

import (
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// TestSnapshotThatDoesNotOpenGivesTheStoreBack: a snapshot that is far ahead of the store replaces
// it, and turns out to be corrupt on this disk. The log does not reach back further than the store.
// So the store comes back into place.
func TestSnapshotThatDoesNotOpenGivesTheStoreBack(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	b, _ := bucket(t)
	tr := newTraffic(s, 12, 10)
	old, ahead := t.TempDir(), t.TempDir()
	m := s.start(s.with(old, b)).ready(1)
	tr.run(100)
	s.caughtUp(m)
	from := m.Status()[0].Position
	m.stop()
	tr.run(300)
	m = s.start(s.with(ahead, b)).ready(1)
	s.caughtUp(m)
	m.snapshots(1)
	to := m.Status()[0].Position
	m.trimmed(s, from, 0)
	m.stop()

	var opened, planted atomic.Int32
	config := s.with(old, b)
	setup.HooksOf(&config).CloserRecords = 1
	setup.HooksOf(&config).OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		opened.Add(1)
		if x, err := projections.InspectHeader(dir, nil); err == nil && x.Position == to {
			planted.Add(1)
			return nil, &projections.CorruptError{Dir: dir, Err: errors.New("planted")}
		}
		return setup.Open(dir, id, o)
	}
	m = s.start(config).ready(1)
	s.caughtUp(m)
	m.stop()
	if n, bad := opened.Load(), planted.Load(); n != 3 || bad != 1 {
		t.Errorf("%d stores were opened, %d of them of the snapshot; want the one that was there, the snapshot's, and the first again", n, bad)
	}
	if got, want := s.digests(s.config(""), old)[0], s.digests(s.config(""), ahead)[0]; got != want {
		t.Errorf("the digest is %x, want %x", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(old, "*.replaced")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	if left, _ := filepath.Glob(filepath.Join(old, "*.corrupt*")); len(left) != 1 {
		t.Errorf("stores in quarantine: %v, want the snapshot's", left)
	}
}
