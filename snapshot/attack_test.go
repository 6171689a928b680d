package snapshot_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

// filled is a bucket with snapshots at the offsets.
func filled(t testing.TB, fs vfs.FS, stores map[int64]frozen, offsets ...int64) *memory {
	t.Helper()
	b := newMemory()
	r := snapshot.New(b, snapshot.Options{FS: fs})
	for _, o := range offsets {
		if _, _, err := r.Create(t.Context(), stores[o], "scratch", snapshot.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// TestEveryDamageIsNoticed (R2): whatever byte of whatever object of the newest snapshot is changed, and wherever it is
// cut off, made longer or removed, what is restored is that snapshot or the one before it, right in every record. A manifest
// that is changed is never taken for one.
func TestEveryDamageIsNoticed(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 600, 900)
	clean := filled(t, fs, stores, 600, 900)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	list, err := snapshot.New(clean, snapshot.Options{}).List(t.Context(), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 {
		t.Fatalf("%d snapshots, want 2", len(list))
	}
	needed, before := map[string]bool{}, map[string]bool{} // what the newest one has, and the one before it
	for _, f := range list[0].Manifest.Files {
		needed["partition-3/"+f.Object] = true
	}
	for _, f := range list[1].Manifest.Files {
		before["partition-3/"+f.Object] = true
	}
	damages, fellBack := 0, 0
	try := func(key string, data []byte, gone bool) {
		b := clean.clone()
		if b.objects[key] = (memoryObject{data, b.objects[key].at, "other"}); gone {
			delete(b.objects, key)
		}
		damages++
		switch got := restorable(t, b); got {
		case 900:
			// There is a copy of the manifest, and the other files are those of the snapshot before alone.
			if needed[key] {
				t.Errorf("%s: the damage was not noticed", key)
			}
		case 600:
			fellBack++
		case 0:
			if !before[key] {
				t.Errorf("%s: the snapshot before it did not help", key)
			}
		default:
			t.Errorf("%s: restored offset %d", key, got)
		}
		if strings.HasSuffix(key, ".manifest") && !gone {
			list, err := snapshot.New(b, snapshot.Options{}).List(t.Context(), 3)
			bad := 0
			for _, e := range list {
				if e.Err != nil && e.Manifest == nil {
					bad++
				}
			}
			if err != nil || bad != 1 {
				t.Errorf("%s: %d manifests were found damaged (%v)", key, bad, err)
			}
		}
	}
	for key, o := range clean.objects {
		n := len(o.data)
		try(key, nil, true)
		try(key, append(bytes.Clone(o.data), 0), false)
		if n == 0 {
			continue
		}
		try(key, o.data[:n-1], false)
		try(key, o.data[:rnd.IntN(n)], false)
		for _, at := range []int{0, n - 1, rnd.IntN(n), rnd.IntN(n)} {
			data := bytes.Clone(o.data)
			data[at] ^= 1 << rnd.IntN(8)
			try(key, data, false)
		}
	}
	if fellBack == 0 {
		t.Error("no damage led to the snapshot before")
	}
	t.Logf("%d damages, %d restores of the one before", damages, fellBack)
}

// TestEveryByteOfTheManifest: all single changed bytes and all lengths.
func TestEveryByteOfTheManifest(t *testing.T) {
	fs := vfs.NewMem()
	clean := filled(t, fs, freeze(t, fs, 100), 100)
	const key = "partition-3/current.manifest"
	good := clean.objects[key]
	for name := range clean.objects { // only the one that is changed
		if strings.Contains(name, "/manifests/") {
			delete(clean.objects, name)
		}
	}
	r := snapshot.New(clean, snapshot.Options{})
	noticed := func(what string, data []byte) {
		clean.objects[key] = memoryObject{data, good.at, "other"}
		if list, err := r.List(t.Context(), 3); err != nil || len(list) != 1 || list[0].Err == nil || list[0].Manifest != nil {
			t.Fatalf("%s: %+v, %v", what, list, err)
		}
	}
	for i := range good.data {
		data := bytes.Clone(good.data)
		data[i] ^= 0x20 // upper to lower case is the least that could be overlooked
		noticed(fmt.Sprint("byte ", i), data)
		noticed(fmt.Sprint("length ", i), good.data[:i])
	}
}

// TestNewerManifestIsLeftAlone: it is neither replaced nor pruned around.
func TestNewerManifestIsLeftAlone(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 100, 200)
	b := filled(t, fs, stores, 100)
	for key, o := range b.objects {
		if strings.HasSuffix(key, ".manifest") {
			b.objects[key] = memoryObject{reseal(o.data, `"format":1,`, `"format":2,`), o.at, o.version}
		}
	}
	r := snapshot.New(b, snapshot.Options{FS: fs, Grace: time.Minute})
	if _, _, err := r.Create(t.Context(), stores[200], "scratch", snapshot.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "run the newer version") {
		t.Errorf("create: %v", err)
	}
	if _, err := r.Prune(t.Context(), 3, nil, false); err == nil || !strings.Contains(err.Error(), "no files of partition 3 are removed") {
		t.Errorf("prune: %v", err)
	}
}

// TestCrashWhileCreating: the bucket fails at each operation of a snapshot, before or after it was done. What restores is
// the old snapshot or the new one, the next try succeeds, and pruning leaves nothing that is not needed.
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

// TestCrashWhilePruning: it fails at each operation; what is kept restores, and the next one finishes.
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
	// Only the owner of the current one prunes by itself.
	if _, err := later(clean).Prune(t.Context(), 3, &projections.Position{200}, false); !errors.Is(err, snapshot.ErrNotCurrent) {
		t.Errorf("a former owner prunes: %v", err)
	}
}

// TestCrashWhileRestoring (R1): the disk fails at each operation, and the machine with it. What is in place afterwards is
// nothing, or the old store, or the new one, right in every record; and the next try succeeds.
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

// TestCorruptStoreIsNoSnapshot: what is damaged on the disk is not uploaded as if it were right.
func TestCorruptStoreIsNoSnapshot(t *testing.T) {
	fs := vfs.NewMem()
	stores := freeze(t, fs, 2000)
	dir := stores[2000].dir
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		f, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		data[len(data)/3] ^= 4
		w, err := fs.Create(fs.PathJoin(dir, name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = w.Write(data); errors.Join(err, w.Close()) != nil {
			t.Fatal(err)
		}
		break
	}
	b := newMemory()
	if _, _, err := snapshot.New(b, snapshot.Options{FS: fs}).Create(t.Context(), stores[2000], "scratch", snapshot.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "not fit to be copied") {
		t.Errorf("create: %v", err)
	}
	if len(b.objects) != 0 {
		t.Errorf("%d objects were uploaded", len(b.objects))
	}
}
