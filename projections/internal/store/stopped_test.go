package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestStopped: Stopped locks an unused store, so that no process opens it, and the store can be
// copied meanwhile. The copy opens.
func TestStopped(t *testing.T) {
	mem := vfs.NewMem()
	if _, err := OpenStopped("dir", mem); err == nil || !strings.Contains(err.Error(), "store dir") {
		t.Errorf("of no store: %v", err)
	}
	db, err := pebble.Open("dir", &pebble.Options{FS: mem})
	if err == nil {
		err = errors.Join(db.Set([]byte("a"), []byte("1"), pebble.Sync), db.Flush(), db.Set([]byte("b"), []byte("2"), pebble.Sync))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStopped("dir", mem); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("of a store that is open: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStopped("dir", mem)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pebble.Open("dir", &pebble.Options{FS: mem}); !IsLocked(err) {
		t.Errorf("while it is held it is opened: %v", err)
	}
	if err := s.Checkpoint("copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Stat("copy/LOCK"); err == nil {
		t.Error("the lock was copied")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"copy", "dir"} {
		db, err := pebble.Open(dir, &pebble.Options{FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"a": "1", "b": "2"} {
			v, closer, err := db.Get([]byte(key))
			if err != nil || string(v) != want {
				t.Fatalf("%s: %s is %q, %v", dir, key, v, err)
			}
			_ = closer.Close()
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
