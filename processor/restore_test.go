package processor

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// gated is a bucket whose files are held back while closed is set.
type gated struct {
	snapshot.Bucket
	mu      sync.Mutex
	gate    chan struct{} // nil: open
	waiting chan struct{} // gets a value for each read that waits
}

func (g *gated) Get(ctx context.Context, key string) (io.ReadCloser, snapshot.Object, error) {
	g.mu.Lock()
	gate := g.gate
	g.mu.Unlock()
	if gate != nil && strings.Contains(key, "/files/") {
		select {
		case g.waiting <- struct{}{}:
		default:
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, snapshot.Object{}, ctx.Err()
		}
	}
	return g.Bucket.Get(ctx, key)
}

// bucket is an empty directory for snapshots.
func bucket(t testing.TB) (snapshot.Bucket, string) {
	t.Helper()
	dir := t.TempDir()
	b, err := snapshot.OpenBucket("file://" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

// with is a config that knows snapshots.
func (s *site) with(dir string, b snapshot.Bucket) Config {
	c := s.config(dir)
	c.Snapshots = snapshot.New(b, snapshot.Options{Logger: c.Logger})
	return c
}

// snapshots takes one of every partition.
func (m *member) snapshots(partitions int32) {
	m.t.Helper()
	for n := range partitions {
		var err error
		until(m.t, "a snapshot of all that was folded is taken", func() bool { // the store follows a little later
			var man *snapshot.Manifest
			man, _, err = m.Snapshot(context.Background(), n, snapshot.CreateOptions{})
			if errors.Is(err, snapshot.ErrUnchanged) || errors.Is(err, projections.ErrEmpty) {
				err = nil
			}
			return err != nil || man != nil && man.Position() == m.Status()[n].Position
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// counted is the value of a counter of the member.
func (m *member) restored(outcome string) int {
	return int(counterValue(m.t, m.metrics.restores.WithLabelValues(outcome)))
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

// TestRestoreWithoutStore: a member with an empty disk starts from the snapshots and publishes nothing again; the log may
// even be gone. In the end all is as a replay of the whole log would make it.
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

// TestRestoreWhenTheLogIsTrimmed: the log does not reach back to the store any more, but to a snapshot. Without one the
// partition is refused.
func TestRestoreWhenTheLogIsTrimmed(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
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

	// Nor does it help if what is there is damaged.
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
}

// digestAfter folds the rest of the log with the store in dir.
func (s *site) digestAfter(dir string) [16]byte {
	m := s.start(s.config(dir)).ready(1)
	s.caughtUp(m)
	m.stop()
	return s.digests(s.config(""), dir)[0]
}

// TestRestoreFallsBack: the newest snapshot is damaged, so the one before is used; then that too, and the log is folded.
func TestRestoreFallsBack(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
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
		t.Fatalf("%+v, %v", list, err)
	}
	named := map[string]bool{}
	for _, f := range list[1].Manifest.Files {
		named[f.Object] = true
	}
	for _, f := range list[0].Manifest.Files { // those of the newest alone
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
}

// TestCorruptStoreIsQuarantined: whatever file of the store is damaged or missing, the store is moved aside, or nothing of it
// was lost; a snapshot or the log takes its place, and all is as it was.
func TestCorruptStoreIsQuarantined(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	tr := newTraffic(s, 6, 10)
	tr.run(400)
	for round, withSnapshot := range []bool{true, false} {
		b, _ := bucket(t)
		dir := t.TempDir()
		m := s.start(s.with(dir, b)).ready(1)
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
		m = s.start(s.with(dir, b)).ready(1)
		s.caughtUp(m)
		if got := counterValue(t, m.metrics.quarantined); got != 1 {
			t.Errorf("%v stores were quarantined", got)
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

// TestCorruptWhileLive: a fold finds its store corrupt in the middle of its work. The partition is rebuilt without a
// rebalance, once; the others go on all the while.
func TestCorruptWhileLive(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	b, _ := bucket(t)
	tr := newTraffic(s, 7, 20)
	tr.run(200)
	dir := t.TempDir()
	c := s.with(dir, b)
	var bad failing
	c.openStore = bad.open
	m := s.start(c).ready(2)
	s.caughtUp(m)
	m.snapshots(2)
	tr.run(100)
	s.caughtUp(m)
	before := m.worker(1)
	bad.fail(0, &projections.CorruptError{Dir: "partition-0", Err: errors.New("planted")})
	tr.run(100)
	until(t, "the partition is rebuilt", func() bool { return counterValue(t, m.metrics.quarantined) == 1 })
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
}

// failing opens stores that report an error from some time on.
type failing struct {
	mu  sync.Mutex
	bad map[int32]error
}

func (f *failing) fail(n int32, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad = map[int32]error{n: err}
}

func (f *failing) open(dir string, id projections.Identity, o projections.Options) (fold, error) {
	p, err := projections.Open(dir, id, o)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.bad, id.Partition) // what is opened anew is good again
	return failingFold{&projection{p}, f, id.Partition}, nil
}

type failingFold struct {
	fold
	f *failing
	n int32
}

func (p failingFold) Err() error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	return errors.Join(p.f.bad[p.n], p.fold.Err())
}

// TestSlowRestoreHoldsUpNobody (B5, B8): while one partition is restored, the other one of the same assignment is live,
// /readyz says what goes on, and members come and go. A restore whose partition goes away is cancelled and leaves nothing.
func TestSlowRestoreHoldsUpNobody(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	inner, _ := bucket(t)
	b := &gated{Bucket: inner, waiting: make(chan struct{}, 1)}
	first, dir := t.TempDir(), t.TempDir()
	tr := newTraffic(s, 8, 20)
	tr.run(300)
	m := s.start(s.with(first, b)).ready(2)
	s.caughtUp(m)
	m.snapshots(2)
	m.stop()
	if err := os.CopyFS(filepath.Join(dir, "partition-1"), os.DirFS(filepath.Join(first, "partition-1"))); err != nil {
		t.Fatal(err)
	}
	b.gate = make(chan struct{})
	m = s.start(s.with(dir, b))
	<-b.waiting
	until(t, "the other partition is live", func() bool { _, err := m.Live(1); return err == nil })
	if _, err := m.Live(0); !errors.Is(err, ErrOpening) {
		t.Errorf("the partition that is restored: %v", err)
	}
	if ok, lines := m.Ready(); ok || !strings.Contains(strings.Join(lines, "\n"), "partition 0 opening, restoring a snapshot: ") {
		t.Errorf("ready: %v, %q", ok, lines)
	}
	tr.run(50)

	// Members come until the restored partition has moved, and go again.
	other := s.start(s.config(t.TempDir())).ready(1)
	tr.run(50)
	other.stop()
	until(t, "both partitions are back", func() bool { return len(m.Status()) == 2 })
	b.mu.Lock()
	close(b.gate)
	b.gate = nil
	b.mu.Unlock()
	m.ready(2)
	s.caughtUp(m)
	m.stop()
	s.matchesReplay(1, dir)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.*")); len(left) > 0 {
		t.Errorf("the restore left %v", left)
	}
}

// TestStopWhileRestoring: a member that is told to stop does not wait for the rest of a snapshot.
func TestStopWhileRestoring(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	inner, _ := bucket(t)
	b := &gated{Bucket: inner, waiting: make(chan struct{}, 1)}
	newTraffic(s, 9, 5).run(50)
	m := s.start(s.with(t.TempDir(), b)).ready(1)
	s.caughtUp(m)
	m.snapshots(1)
	m.stop()
	b.gate = make(chan struct{}) // never opened
	dir := t.TempDir()
	m = s.start(s.with(dir, b))
	<-b.waiting
	m.stop()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("the restore left %v", left)
	}
}

// TestSnapshotsAreTaken: on the clock, pruned to what is kept, and once more on the way out.
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
	if len(list) > 4 { // those that were taken while it stopped and on the way out are not followed by a prune
		t.Errorf("%d snapshots are left of 5 or more, of which 2 are to be kept", len(list))
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

func counterValue(t testing.TB, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
