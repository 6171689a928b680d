package processor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/engine"
	"github.com/tidemark/tidemark/processor/internal/group"
	"github.com/tidemark/tidemark/processor/internal/life"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
)

// mover is a member without a network, whose clock and group the test sets.
type mover struct {
	*Processor
	t      *testing.T
	now    time.Time
	owners map[int32]string
	log    bytes.Buffer
}

// newMover returns a member that is in its group, with an existing data directory.
func newMover(t *testing.T, dir string, now time.Time) *mover {
	t.Helper()
	m := &mover{t: t, now: now, owners: map[int32]string{}}
	c := Config{Brokers: []string{"127.0.0.1:1"}, Group: "g", DataDir: dir, Settings: projections.DefaultSettings(), Advertise: "http://here:1",
		StoreRetention: 24 * time.Hour, Logger: slog.New(slog.NewTextHandler(&m.log, nil))}
	setup.HooksOf(&c).Now = func() time.Time { return m.now }
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.asker.Close)
	p.engine.Cluster.Store(&engine.Cluster{Partitions: 16})
	p.joined = true
	p.directory.Describe = func(context.Context) (kadm.DescribedGroup, error) { return kadm.DescribedGroup{State: "Dead"}, nil }
	p.directory.Owners = m.owners
	m.Processor = p
	return m
}

// storesAre makes empty stores of these partitions.
func storesAre(t *testing.T, dir string, numbers ...int32) {
	t.Helper()
	for _, n := range numbers {
		p, err := projections.Open(StoreDir(dir, n), projections.Identity{Partition: n, Partitions: 16}, projections.Options{})
		if err == nil {
			err = p.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sweep sweeps the stores after d has passed, and returns the partitions with remaining stores.
func (m *mover) sweep(d time.Duration) []int32 {
	m.t.Helper()
	m.now = m.now.Add(d)
	m.sweepStores(m.t.Context())
	left, err := Stores(m.cfg.DataDir)
	if err != nil {
		m.t.Fatal(err)
	}
	return left
}

func (m *mover) left(what string, got []int32, want ...int32) {
	m.t.Helper()
	if !slices.Equal(got, want) {
		m.t.Errorf("%s: stores %v are left, want %v\n%s", what, got, want, &m.log)
	}
}

// TestStoresThatMovedAwayGo: sweep removes the stores of partitions that this member neither owns
// nor tails, after the retention time, which a restart does not extend. It removes a store only
// while another member is known to own the partition and no other process uses the store.
func TestStoresThatMovedAwayGo(t *testing.T) {
	dir, began := t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	storesAre(t, dir, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	const owned, standby, toFollow, toWarm, toOwn, leaving, moved, orphan, used = 0, 1, 2, 3, 4, 5, 6, 7, 8
	busy := make(chan struct{})
	begin := func(m *mover) *mover {
		m.workers[owned] = m.newWorker(owned, nil)
		m.standbys.workers[standby] = m.newWorker(standby, nil)
		m.standbys.want = group.Duties{Standby: []int32{standby, toFollow}, Warming: []int32{toWarm}}
		m.standbys.owned[toOwn] = true
		m.leaving[leaving] = busy
		for _, n := range []int32{owned, standby, toFollow, toWarm, toOwn, leaving, moved, used} {
			m.owners[n] = "http://there:1"
		}
		return m
	}
	m := begin(newMover(t, dir, began))
	m.left("at first", m.sweep(0), 0, 1, 2, 3, 4, 5, 6, 7, 8)
	m.left("a second before the time", m.sweep(24*time.Hour-time.Second), 0, 1, 2, 3, 4, 5, 6, 7, 8)

	m = begin(newMover(t, dir, m.now)) // as after a restart
	m.joined = false
	m.left("before the group is joined", m.sweep(time.Second), 0, 1, 2, 3, 4, 5, 6, 7, 8)
	m.joined = true
	m.engine.SetGroupErr(errors.New("no broker answers"))
	m.left("while the group is not known", m.sweep(0), 0, 1, 2, 3, 4, 5, 6, 7, 8)
	m.engine.SetGroupErr(nil)
	stopped, err := projections.OpenStopped(StoreDir(dir, used), nil)
	if err != nil {
		t.Fatal(err)
	}
	m.left("when it is time", m.sweep(0), 0, 1, 2, 3, 4, 5, 7, 8)
	if slices.Contains(m.storesOnDisk, moved) || !slices.Contains(m.storesOnDisk, leaving) {
		t.Errorf("the member reports the stores %v to the group", m.storesOnDisk)
	}
	if log := m.log.String(); !strings.Contains(log, "dir="+StoreDir(dir, moved)+" unused_since=2026-03-01T12:00:00.000Z") ||
		!strings.Contains(log, "no member of group g owns partition 7 now") || !strings.Contains(log, "partition-8 is in use") {
		t.Errorf("log:\n%s", log)
	}
	if n := counterValue(t, m.metrics.StoresRemoved); n != 1 {
		t.Errorf("%v stores were counted", n)
	}

	if err := stopped.Close(); err != nil {
		t.Fatal(err)
	}
	m.owners[orphan] = "http://here:1"
	m.left("what the group says is here stays", m.sweep(time.Second), 0, 1, 2, 3, 4, 5, 7)
	m.owners[orphan] = "http://there:1"
	close(busy) // its last worker has ended
	m.left("and goes when it is elsewhere", m.sweep(time.Second), 0, 1, 2, 3, 4, 5)
	m.left("what was let go of begins its own time", m.sweep(24*time.Hour-time.Second), 0, 1, 2, 3, 4, 5)
	m.left("and ends it", m.sweep(time.Second), 0, 1, 2, 3, 4)
	if names, err := filepath.Glob(filepath.Join(dir, "*.*")); err != nil || len(names) > 0 {
		t.Errorf("left beside the stores: %v, %v", names, err)
	}
}

// TestAStoreThatComesBackStays: opening a store ends its retention time, and the next time begins
// anew. An empty note, or a note from the future, also restarts it. sweep removes what a crash left
// of a removal.
func TestAStoreThatComesBackStays(t *testing.T) {
	dir := t.TempDir()
	storesAre(t, dir, 1, 2, 3)
	m := newMover(t, dir, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for n := range int32(4) {
		m.owners[n] = "http://there:1"
	}
	m.left("at first", m.sweep(0), 1, 2, 3)
	m.now = m.now.Add(23 * time.Hour)
	w := m.newWorker(1, nil)
	if err := w.Home.Tidy(StoreDir(dir, 1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
	}{{"partition-2.unused", "yesterday"}, {"partition-3.unused", "2036-01-01T00:00:00Z"}} {
		if err := os.WriteFile(filepath.Join(dir, c.name), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "partition-1.removing"), 0o755); err != nil {
		t.Fatal(err)
	}
	m.left("the time begins", m.sweep(time.Hour), 1, 2, 3)
	if _, err := os.Stat(filepath.Join(dir, "partition-1.removing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left: %v", err)
	}
	m.left("is not over", m.sweep(24*time.Hour-time.Second), 1, 2, 3)
	m.left("is over", m.sweep(time.Second))
}

// TestWhatAKillLeftOfARestoreGoesToo: a process is killed while a snapshot replaces a store, and
// then the partition moves away. Besides the store in place, sweep removes the replaced store,
// which may be the only complete one, and a partial snapshot.
func TestWhatAKillLeftOfARestoreGoesToo(t *testing.T) {
	dir := t.TempDir()
	storesAre(t, dir, 1, 2)
	for from, to := range map[string]string{
		StoreDir(dir, 1): StoreDir(dir, 1) + ".replaced", // between the two renames of an installation
		StoreDir(dir, 2): StoreDir(dir, 2) + ".replaced",
	} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	storesAre(t, dir, 2)
	if err := os.Mkdir(StoreDir(dir, 1)+".restoring", 0o755); err != nil {
		t.Fatal(err)
	}
	m := newMover(t, dir, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	if !slices.Equal(m.storesOnDisk, []int32{1, 2}) {
		t.Errorf("the member reports the stores %v to the group", m.storesOnDisk)
	}
	m.owners[1], m.owners[2] = "http://there:1", "http://there:1"
	m.left("at first", m.sweep(0), 2)
	if names, err := filepath.Glob(filepath.Join(dir, "*.replaced")); err != nil || len(names) != 2 {
		t.Errorf("before it is time there are %v, %v", names, err)
	}
	m.left("when it is time", m.sweep(24*time.Hour))
	if names, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(names) > 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}

// TestWhoComesWhileAStoreGoesWaits: a partition that is assigned while its store is being removed
// opens after the removal.
func TestWhoComesWhileAStoreGoesWaits(t *testing.T) {
	m := newMover(t, t.TempDir(), time.Now())
	done, ok := m.reserve(3)
	if !ok {
		t.Fatal("a store that nobody uses cannot be reserved")
	}
	w := m.newWorker(3, nil)
	if w.After == nil || life.Done(w.After) {
		t.Fatal("the store would be opened while it goes")
	}
	if _, again := m.reserve(3); again {
		t.Error("it is reserved twice")
	}
	done()
	if !life.Done(w.After) {
		t.Error("the store is gone, and nobody may open it")
	}
}

// TestPartitionsComeBackToWhereTheirStoresWent: with hardly any retention, members that share out
// partitions repeatedly reach the state of a replay.
func TestPartitionsComeBackToWhereTheirStoresWent(t *testing.T) {
	const n = 4
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), n)
	tr := newTraffic(s, rand.Uint64(), 20)
	ca, cb := s.config(t.TempDir()), s.config(t.TempDir())
	ca.StoreRetention, cb.StoreRetention = time.Millisecond, time.Millisecond
	ca.Advertise, cb.Advertise = "http://a:1", "http://b:1"
	a := s.start(ca).ready(n)
	for range 2 {
		tr.run(300)
		b := s.start(cb)
		a.ready(n / 2)
		b.ready(n / 2)
		until(t, "the stores that moved are gone", func() bool {
			left, err := Stores(ca.DataDir)
			return err == nil && len(left) == n/2
		})
		tr.run(300)
		s.caughtUp(a, b)
		b.stop()
		a.ready(n)
	}
	s.caughtUp(a)
	a.stop()
	s.matchesReplay(1, ca.DataDir)
}
