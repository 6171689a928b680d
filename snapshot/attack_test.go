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

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/snapshot"
)

// filled returns a bucket with snapshots at the offsets.
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

// TestEveryDamageIsNoticed (R2) changes bytes of the objects of the newest snapshot, and truncates,
// extends and removes the objects. A restore must give that snapshot or the one before it, right in
// every record. It never accepts a changed manifest.
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
	needed, before := map[string]bool{}, map[string]bool{} // the objects of the newest snapshot, and of the one before it
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
			// The manifest has a copy, and the other files belong only to the snapshot before.
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

// TestEveryByteOfTheManifest: the manifest is changed in every single byte, and cut to every
// length.
func TestEveryByteOfTheManifest(t *testing.T) {
	fs := vfs.NewMem()
	clean := filled(t, fs, freeze(t, fs, 100), 100)
	const key = "partition-3/current.manifest"
	good := clean.objects[key]
	for name := range clean.objects { // keep only the changed one
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
		data[i] ^= 0x20 // a change of case is the easiest to overlook
		noticed(fmt.Sprint("byte ", i), data)
		noticed(fmt.Sprint("length ", i), good.data[:i])
	}
}

// TestNewerManifestIsLeftAlone: a manifest of a newer version is not replaced, and prevents
// pruning.
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

// TestCorruptStoreIsNoSnapshot: a damaged store is not uploaded.
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
		!strings.Contains(err.Error(), "cannot be copied") {
		t.Errorf("create: %v", err)
	}
	if len(b.objects) != 0 {
		t.Errorf("%d objects were uploaded", len(b.objects))
	}
}
