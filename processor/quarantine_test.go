package processor

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// TestCorruptStoreIsQuarantined: whatever file of the store is damaged or missing, either nothing
// is lost, or the store is moved aside and a snapshot or the log replaces it. The state is the same
// as before.
func TestCorruptStoreIsQuarantined(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 1)
		tr := newTraffic(s, 6, 10)
		tr.run(400)
		for round, c := range []struct{ withBucket, withSnapshot bool }{{true, true}, {true, false}, {false, false}} {
			b, _ := bucket(t)
			dir, withSnapshot := t.TempDir(), c.withSnapshot
			config := s.with(dir, b)
			if !c.withBucket {
				config.Snapshots = nil
			}
			m := s.start(config).ready(1)
			s.caughtUp(m)
			if withSnapshot {
				m.snapshots(1)
			}
			m.stop()
			want := s.digests(s.config(""), dir)[0]
			store := StoreDir(dir, 0)
			if err := os.WriteFile(filepath.Join(store, "MANIFEST-000001"), []byte("damaged"), 0o644); err != nil {
				t.Fatal(err)
			}
			manifests, _ := filepath.Glob(filepath.Join(store, "MANIFEST-*"))
			for _, name := range manifests {
				damage(t, name)
			}
			m = s.start(config).ready(1)
			s.caughtUp(m)
			if got := counterValue(t, m.metrics.Quarantined); got != 1 {
				t.Errorf("round %d: %v stores were quarantined", round, got)
			}
			if got := m.restored("done") == 1; got != withSnapshot {
				t.Errorf("round %d: restored: %v", round, got)
			}
			m.stop()
			if got := s.digests(s.config(""), dir)[0]; got != want {
				t.Errorf("the digest is %x, not %x", got, want)
			}
			if kept, _ := filepath.Glob(store + ".corrupt-*"); len(kept) != 1 {
				t.Errorf("quarantined: %v", kept)
			}
		}
	})
}

// damage flips a byte in the middle of a file.
func damage(t testing.TB, name string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x40
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCorruptWhileLive: a fold finds its store corrupt amid its work. The partition is rebuilt
// once, without a rebalance. The other partitions continue all the time.
func TestCorruptWhileLive(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		b, _ := bucket(t)
		tr := newTraffic(s, 7, 20)
		tr.run(200)
		dir := t.TempDir()
		c := s.with(dir, b)
		var bad failing
		setup.HooksOf(&c).OpenStore = bad.open
		m := s.start(c).ready(2)
		s.caughtUp(m)
		m.snapshots(2)
		tr.run(100)
		s.caughtUp(m)
		before := m.worker(1)
		bad.fail(0, &projections.CorruptError{Dir: "partition-0", Err: errors.New("planted")})
		tr.run(100)
		until(t, "the partition is rebuilt", func() bool { return counterValue(t, m.metrics.Quarantined) == 1 })
		m.ready(2)
		s.caughtUp(m)
		if m.restored("done") != 1 {
			t.Errorf("%d partitions were restored", m.restored("done"))
		}
		if m.worker(1) != before {
			t.Error("the other partition was opened again too")
		}
		m.stop()
		s.matchesReplay(1, dir)
	})
}

// failing opens stores that report an error from some moment on.
type failing struct {
	mu  sync.Mutex
	bad map[int32]error
}

func (f *failing) fail(n int32, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = map[int32]error{n: err}
}

func (f *failing) open(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.bad, id.Partition) // a store that is opened again works
	return failingFold{setup.FoldOf(p), f, id.Partition}, nil
}

type failingFold struct {
	setup.Fold
	f *failing
	n int32
}

func (p failingFold) Err() error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	return errors.Join(p.f.bad[p.n], p.Fold.Err())
}

func counterValue(t testing.TB, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
