package home

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections"
)

// store makes a store in dir, closed.
func store(t *testing.T, fs vfs.FS, dir string) {
	t.Helper()
	p, err := projections.Open(dir, projections.Identity{Partition: 3, Partitions: 16}, projections.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// A store is removed only while its mark still has the given time.
func TestUnusedStoresAreRemoved(t *testing.T) {
	fs, dir := vfs.NewMem(), Dir("data", 3)
	if err := fs.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, noted, err := UnusedSince(fs, dir, now); noted || err != nil {
		t.Fatalf("without a store: noted %t, %v", noted, err)
	}
	store(t, fs, dir)
	if _, noted, err := UnusedSince(fs, dir, now); noted || err != nil {
		t.Fatalf("first look: noted %t, %v", noted, err)
	}
	since, noted, err := UnusedSince(fs, dir, now.Add(time.Hour))
	if !noted || err != nil || !since.Equal(now) {
		t.Fatalf("second look: since %v, noted %t, %v", since, noted, err)
	}
	if removed, err := RemoveUnused(fs, dir, since.Add(time.Second)); removed || err != nil {
		t.Errorf("of another time: removed %t, %v", removed, err)
	}
	if !hasStore(fs, dir) {
		t.Fatal("the store is gone")
	}
	if removed, err := RemoveUnused(fs, dir, since); !removed || err != nil {
		t.Errorf("removed %t, %v", removed, err)
	}
	if names, err := fs.List("data"); len(names) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

// A note from the future, written before the clock was set back, restarts the period instead of
// keeping the store.
func TestANoteOfTheFutureBeginsAnew(t *testing.T) {
	fs, dir := vfs.NewMem(), Dir("data", 3)
	if err := fs.MkdirAll("data", 0o755); err != nil {
		t.Fatal(err)
	}
	store(t, fs, dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := writeMark(fs, beside(dir, unusedMark), now.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, noted, err := UnusedSince(fs, dir, now); noted || err != nil {
		t.Fatalf("noted %t, %v", noted, err)
	}
	if since, noted, err := UnusedSince(fs, dir, now); !noted || !since.Equal(now) || err != nil {
		t.Errorf("since %v, noted %t, %v", since, noted, err)
	}
}

// Tidy removes what a crash left of a restore or a removal, and puts a store that was moved aside
// back. It keeps the newest two quarantined stores.
func TestTidy(t *testing.T) {
	fs := vfs.NewMem()
	h := newHome(t, fs)
	dir := h.Dir()
	store(t, fs, beside(dir, replacedMark))
	for _, mark := range []string{restoringMark, checkpointMark, unusedMark, removingMark, corruptMark + "-1", corruptMark + "-2", corruptMark + "-3"} {
		if err := fs.MkdirAll(filepath.Join(beside(dir, mark), "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Tidy(dir); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("data")
	slices.Sort(names)
	if want := []string{"partition-3", "partition-3.corrupt-2", "partition-3.corrupt-3"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("there are %v, %v, want %v", names, err, want)
	}
	p, err := projections.Open(dir, projections.Identity{Partition: 3, Partitions: 16}, projections.Options{FS: fs})
	if err != nil {
		t.Fatalf("the store that came back: %v", err)
	}
	_ = p.Close()
}

// Stores finds folders with the right name. StoresHere also finds stores that a snapshot was about
// to replace.
func TestStores(t *testing.T) {
	data := t.TempDir()
	for _, name := range []string{"partition-7", "partition-0", "partition-12.replaced", "partition-7.replaced", "partition--1", "partition-x", "partition-5.corrupt", "other"} {
		if err := os.Mkdir(filepath.Join(data, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(data, "partition-9"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Stores(data); err != nil || !slices.Equal(got, []int32{0, 7}) {
		t.Errorf("Stores: %v, %v", got, err)
	}
	if got, err := StoresHere(data); err != nil || !slices.Equal(got, []int32{0, 7, 12}) {
		t.Errorf("StoresHere: %v, %v", got, err)
	}
	if _, err := Stores(filepath.Join(data, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no folder: %v", err)
	}
}
