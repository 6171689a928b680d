package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// recycled returns a store whose newest log is in the file of an older, larger one, and has one
// record of its own: b = 2.
func recycled(t *testing.T, mem *vfs.MemFS) (logFile string) {
	t.Helper()
	db, err := pebble.Open("dir", &pebble.Options{FS: mem, MemTableSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 100<<10)
	for i := range 12 { // Pebble recycles logs only after several were created
		if err := errors.Join(db.Set(fmt.Appendf(nil, "a%02d", i), big, pebble.Sync), db.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Set([]byte("b"), []byte("2"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	return newestLog(t, mem, "dir")
}

func newestLog(t *testing.T, mem vfs.FS, dir string) (at string) {
	t.Helper()
	names, err := mem.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if path.Ext(name) == ".log" && mem.PathJoin(dir, name) > at {
			at = mem.PathJoin(dir, name)
		}
	}
	return at
}

func sizeOf(t *testing.T, mem vfs.FS, at string) int64 {
	t.Helper()
	info, err := mem.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestTrimLog: a copy has the written part of the newest log, and not the older log that was in
// that file before. It opens with all records.
func TestTrimLog(t *testing.T) {
	mem := vfs.NewMem()
	at := recycled(t, mem)
	if n := sizeOf(t, mem, at); n < 50<<10 {
		t.Fatalf("%s has %d bytes: Pebble did not use a file of an older log", at, n)
	}
	s, err := OpenStopped("dir", mem)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Checkpoint("copy"), s.Close()); err != nil {
		t.Fatal(err)
	}
	if n := sizeOf(t, mem, newestLog(t, mem, "copy")); n == 0 || n > 1000 {
		t.Errorf("the log of the copy has %d bytes", n)
	}
	if n := sizeOf(t, mem, at); n < 50<<10 {
		t.Errorf("the store's own log was trimmed, to %d bytes", n)
	}
	db, err := pebble.Open("copy", &pebble.Options{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for key, n := range map[string]int{"a00": 100 << 10, "a11": 100 << 10, "b": 1} {
		v, closer, err := db.Get([]byte(key))
		if err != nil || len(v) != n {
			t.Fatalf("%s has %d bytes, %v", key, len(v), err)
		}
		_ = closer.Close()
	}
}

// TestTrimLogLeavesDamage: a log with a damaged record stays unchanged, and an opening refuses it.
func TestTrimLogLeavesDamage(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db, err := pebble.Open("dir", &pebble.Options{FS: mem, FormatMajorVersion: pebble.FormatNewest})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 { // a later sync proves that the record before it was whole
		if err := db.Set(fmt.Appendf(nil, "k%d", i), make([]byte, 40<<10), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	copied := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 2))})
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	at := newestLog(t, copied, "dir")
	f, err := copied.OpenReadWrite(at, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.WriteAt([]byte("damage"), 50<<10)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	before := sizeOf(t, copied, at)
	if err := TrimLog(copied, "dir"); err != nil {
		t.Fatal(err)
	}
	if n := sizeOf(t, copied, at); n != before {
		t.Errorf("the damaged log went from %d to %d bytes", before, n)
	}
	if db, err := pebble.Open("dir", &pebble.Options{FS: copied, FormatMajorVersion: pebble.FormatNewest}); !pebble.IsCorruptionError(err) {
		t.Errorf("it opens: %v, %v", db, err)
	}
}
