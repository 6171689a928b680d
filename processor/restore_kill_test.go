package processor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor/internal/home"
	"github.com/tidemark/tidemark/processor/internal/setup"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// ends is a disk that fails at its n-th write. It keeps the contents that a crash would leave, and
// accepts no later write.
type ends struct {
	disk  *vfs.MemFS
	crash vfs.CrashCloneCfg

	mu     sync.Mutex
	writes int
	left   *vfs.MemFS // nil until the failure
}

var errKilled = errors.New("killed")

// MaybeError implements errorfs.Injector.
func (e *ends) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.writes--; e.writes == -1 {
		e.left = e.disk.CrashClone(e.crash)
	}
	if e.writes < 0 {
		return errKilled
	}
	return nil
}

// String implements errorfs.Injector.
func (e *ends) String() string { return "a kill" }

// replacing is a member with a snapshot that is far ahead of its store of partition 0. Each disk
// that the test gives it has that store.
type replacing struct {
	*mover
	bucket    snapshot.Bucket
	from, to  projections.Position
	old, new  [16]byte // digests
	untouched *vfs.MemFS
	opened    bool // the latest try opened the snapshot's store
}

func newReplacing(t *testing.T) *replacing {
	m := newMover(t, t.TempDir(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := &replacing{mover: m, untouched: vfs.NewMem()}
	m.cfg.DataDir = "data" // in memory, not on this machine's disk
	r.bucket, _ = bucket(t)
	dir := StoreDir(m.cfg.DataDir, 0)
	if err := r.untouched.MkdirAll(m.cfg.DataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := projections.Open(dir, m.engine.IdentityOf(0), projections.Options{FS: r.untouched})
	if err != nil {
		t.Fatal(err)
	}
	r.from, r.old = postTo(t, p, 3)
	old := vfs.NewMem()
	err = errors.Join(p.Checkpoint("copy"), old.MkdirAll(m.cfg.DataDir, 0o755))
	if err == nil {
		_, err = vfs.Clone(r.untouched, old, "copy", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.to, r.new = postTo(t, p, 9)
	repository := snapshot.New(r.bucket, snapshot.Options{FS: r.untouched})
	if _, _, err := repository.Create(t.Context(), p, home.CheckpointDir(dir), snapshot.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	r.untouched = old
	return r
}

// postTo posts messages up to an offset and stores them.
func postTo(t *testing.T, p *projections.Partition, end int64) (projections.Position, [16]byte) {
	t.Helper()
	var d projections.Deltas
	for at := p.Position()[0]; at < end; at++ {
		p.FoldMessage(&events.Message{Kind: events.KindMessagePosted, OccurredAt: 1000 + at, ChannelID: []byte("general"), MessageID: fmt.Append(nil, at), SenderID: []byte("alice")}, at, 1000+at)
	}
	p.Drain(&d, true)
	c, err := p.Cut()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); err != nil {
		t.Fatal(err)
	}
	return p.Position(), p.Digest()
}

// disk returns a disk with the old store.
func (r *replacing) disk() *vfs.MemFS {
	disk := vfs.NewCrashableMem()
	if _, err := vfs.Clone(r.untouched, disk, r.cfg.DataDir, r.cfg.DataDir, vfs.CloneSync); err != nil {
		r.t.Fatal(err)
	}
	root, err := disk.OpenDir("/")
	if err == nil {
		err = errors.Join(root.Sync(), root.Close())
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return disk
}

// open opens the partition on a disk. corrupt says whether a snapshot is corrupt once it is in
// place.
func (r *replacing) open(disk vfs.FS, corrupt bool) (setup.Fold, error) {
	r.cfg.FS, r.cfg.CloserRecords, r.opened = disk, 1, false
	r.cfg.Snapshots = snapshot.New(r.bucket, snapshot.Options{FS: disk, Parallel: 1})
	r.cfg.OpenStore = func(dir string, id projections.Identity, o projections.Options) (setup.Fold, error) {
		x, err := projections.InspectHeader(dir, disk)
		snapshots := err == nil && x.Position == r.to
		if corrupt && snapshots {
			return nil, &projections.CorruptError{Dir: dir, Err: errors.New("planted")}
		}
		f, err := setup.Open(dir, id, o)
		r.opened = snapshots && err == nil
		return f, err
	}
	return r.newWorker(0, nil).Home.Open()
}

// check compares the opened store with the expected one, checks the files beside it, and closes it.
func (r *replacing) check(when string, f setup.Fold, disk vfs.FS, at projections.Position, digest [16]byte) {
	r.t.Helper()
	if got := f.Projection().Digest(); f.StoredPosition() != at || got != digest {
		r.t.Fatalf("%s: opened at %v with digest %x, want %v with %x\n%s", when, f.StoredPosition(), got, at, digest, &r.log)
	}
	names, err := disk.List(r.cfg.DataDir)
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == filepath.Base(StoreDir("", 0)) || strings.Contains(name, ".corrupt-")
	})
	if err = errors.Join(err, f.Close()); err != nil || len(names) > 0 {
		r.t.Fatalf("%s: %v; beside the store there are %v", when, err, names)
	}
}

// TestKilledWhileASnapshotTakesThePlace: a process is killed, or its machine loses power, before
// each write of a restore over a store without which the log cannot be folded on. If the snapshot,
// which nobody had opened until then, turns out to be corrupt, the next start has the store, and
// otherwise the snapshot. Nothing else is left beside them.
func TestKilledWhileASnapshotTakesThePlace(t *testing.T) {
	r := newReplacing(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, first := range []bool{false, true} { // whether it is found corrupt before the kill
		writes := 0
		for ended := false; !ended; writes++ {
			// Either all or nothing of what is not synced survives. Pebble's own opening needs
			// names to reach a directory in their order.
			e := &ends{disk: r.disk(), writes: writes, crash: vfs.CrashCloneCfg{UnsyncedDataPercent: 100 * rnd.IntN(2), RNG: rnd}}
			f, err := r.open(errorfs.Wrap(e.disk, e), first)
			if err == nil {
				_ = f.Close() // the process is dead
			}
			if ended = e.left == nil; ended {
				if err != nil {
					t.Fatalf("without a kill: %v", err)
				}
				continue
			}
			proven := r.opened
			when := fmt.Sprintf("killed before write %d of a restore of a snapshot that opens: %t", writes, !first)
			for _, corrupt := range []bool{true, false} {
				if corrupt && proven {
					continue // nothing needs the store any more
				}
				left := vfs.NewMem()
				if _, err := vfs.Clone(e.left, left, r.cfg.DataDir, r.cfg.DataDir); err != nil {
					t.Fatal(err)
				}
				r.log.Reset()
				f, err := r.open(left, corrupt)
				if err != nil {
					t.Fatalf("%s: %v\n%s", when, err, &r.log)
				}
				if corrupt {
					r.check(when, f, left, r.from, r.old)
				} else {
					r.check(when, f, left, r.to, r.new)
				}
			}
		}
		if writes < 50 {
			t.Errorf("a restore has %d writes: too few to be one", writes)
		}
		t.Logf("a restore has %d writes", writes)
	}
}
