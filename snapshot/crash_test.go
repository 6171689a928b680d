package snapshot_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// TestCrashWhileCreating: the bucket fails at each operation of a snapshot, before or after doing
// it. A restore gives the old snapshot or the new one, the next attempt succeeds, and pruning
// leaves no unneeded file.
func TestCrashWhileCreating(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 300, 500)
	clean := filled(t, fs, stores, 300)
	for _, fault := range []error{errDown, errLost} {
		for i := 0; ; i++ {
			b := clean.clone()
			hit := b.failAt(i, fault)
			r := snapshot.New(b, snapshot.Options{FS: fs, Parallel: 1})
			_, _, err := r.Create(t.Context(), stores[500], "scratch", snapshot.CreateOptions{})
			if !*hit {
				if err != nil || i < 5 {
					t.Fatalf("after %d operations: %v", i, err)
				}
				break
			}
			b.before = func(string, string) error { return nil }
			if at := restorable(t, b); at != 300 && at != 500 || err == nil && at != 500 {
				t.Fatalf("operation %d failed (%v): offset %d is restored", i, err, at)
			}
			if names, _ := fs.List(""); strings.Contains(strings.Join(names, " "), "scratch") {
				t.Fatal("a checkpoint is left")
			}
			r = snapshot.New(b, snapshot.Options{FS: fs, Keep: 1})
			if _, _, err := r.Create(t.Context(), stores[500], "scratch", snapshot.CreateOptions{}); err != nil && !errors.Is(err, snapshot.ErrUnchanged) {
				t.Fatalf("operation %d failed, and then: %v", i, err)
			}
			if at := restorable(t, b); at != 500 {
				t.Fatalf("operation %d failed, and after the next try offset %d is restored", i, at)
			}
			later := snapshot.New(b, snapshot.Options{FS: fs, Keep: 1, Now: func() time.Time { return time.Now().Add(25 * time.Hour) }})
			if _, err := later.Prune(t.Context(), 3, nil, false); err != nil {
				t.Fatal(err)
			}
			if at := restorable(t, b); at != 500 {
				t.Fatalf("after pruning offset %d is restored", at)
			}
			list, err := later.List(t.Context(), 3)
			if err != nil || len(list) != 1 {
				t.Fatalf("%+v, %v", list, err)
			}
			if want := len(list[0].Manifest.Files) + 2; len(b.objects) > want { // files of equal content share an object
				t.Fatalf("%d objects are left of which %d are needed", len(b.objects), want)
			}
		}
	}
}

// TestCrashWhilePruning: the bucket fails at each operation of a prune. The kept snapshots still
// restore, and the next prune finishes.
func TestCrashWhilePruning(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 100, 200, 300)
	clean := filled(t, fs, stores, 100, 200, 300)
	later := func(b *memory) *snapshot.Repository {
		return snapshot.New(b, snapshot.Options{FS: fs, Keep: 2, Now: func() time.Time { return time.Now().Add(25 * time.Hour) }})
	}
	whole := clean.clone()
	if p, err := later(whole).Prune(t.Context(), 3, nil, false); err != nil || len(p.Snapshots) != 1 || p.Kept != 2 || p.Files == 0 {
		t.Fatalf("%+v, %v", p, err)
	}
	dry := clean.clone()
	if p, err := later(dry).Prune(t.Context(), 3, nil, true); err != nil || len(p.Snapshots) != 1 || len(dry.objects) != len(clean.objects) {
		t.Fatalf("dry: %+v, %v", p, err)
	}
	for i := 0; ; i++ {
		b := clean.clone()
		hit := b.failAt(i, errLost)
		_, err := later(b).Prune(t.Context(), 3, nil, false)
		b.before = func(string, string) error { return nil }
		if !*hit {
			if err != nil || i < 5 {
				t.Fatalf("after %d operations: %v", i, err)
			}
			break
		}
		if at := restorable(t, b); at != 300 {
			t.Fatalf("operation %d failed: offset %d is restored", i, at)
		}
		delete(b.objects, "partition-3/current.manifest")
		delete(b.objects, "partition-3/manifests/"+snapshot.Name(projections.Position{300})+".manifest")
		if at := restorable(t, b); at != 200 {
			t.Fatalf("operation %d failed: of the kept ones offset %d is restored", i, at)
		}
	}
	// Only the owner of the current snapshot prunes on its own.
	if _, err := later(clean).Prune(t.Context(), 3, &projections.Position{200}, false); !errors.Is(err, snapshot.ErrNotCurrent) {
		t.Errorf("a former owner prunes: %v", err)
	}
}

// TestCrashWhileRestoring (R1): the machine fails at each operation of the disk. Afterwards there
// is no store, the old one, or the new one, right in every record, and the next attempt succeeds.
func TestCrashWhileRestoring(t *testing.T) {
	source := vfs.NewMem()
	b := filled(t, source, freeze(t, source, 300), 300)
	list, err := snapshot.New(b, snapshot.Options{}).List(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	old := vfs.NewMem()
	freeze(t, old, 100)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for i := int32(0); ; i++ {
		disk := vfs.NewCrashableMem()
		if _, err := vfs.Clone(old, disk, "store", "data/store", vfs.CloneSync); err != nil {
			t.Fatal(err)
		}
		index := errorfs.OnIndex(i)
		failing := errorfs.Wrap(disk, errorfs.ErrInjected.If(index))
		r := snapshot.New(b, snapshot.Options{FS: failing, Parallel: 1})
		err := r.Download(t.Context(), list[0].Manifest, "data/temp", nil)
		if err == nil {
			err = snapshot.Install(failing, "data/temp", "data/store", "data/aside")
		}
		if err == nil && index.Load() >= 0 {
			if i < 20 {
				t.Fatalf("it succeeds after %d operations", i)
			}
			break
		}
		crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[rnd.IntN(3)], RNG: rnd})
		if _, err := crashed.Stat("data/store"); err == nil {
			g := openStore(t, "data/store", crashed)
			at := g.p.Position()[0]
			if got := fmt.Sprintf("%x", g.p.Digest()); at != 100 && at != 300 || got != digests(t, at) {
				t.Fatalf("operation %d failed (%v): a store at %d with digest %s is in place", i, err, at, got)
			}
			g.close(t)
		} else if !oserror.IsNotExist(err) {
			t.Fatal(err)
		}
		again := snapshot.New(b, snapshot.Options{FS: crashed})
		if err := errors.Join(again.Download(t.Context(), list[0].Manifest, "data/temp", nil), crashed.RemoveAll("data/aside"),
			snapshot.Install(crashed, "data/temp", "data/store", "data/aside")); err != nil {
			t.Fatalf("operation %d failed, and then: %v", i, err)
		}
		g := openStore(t, "data/store", crashed)
		if g.p.Position()[0] != 300 {
			t.Fatalf("position %v", g.p.Position())
		}
		g.close(t)
	}
}
