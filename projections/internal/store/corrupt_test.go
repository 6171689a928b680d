package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestWhatAnErrorSays: an error shows whether a store is corrupt, whether another process has it
// open, and whether the disk failed.
func TestWhatAnErrorSays(t *testing.T) {
	damaged := &CorruptError{"dir", errors.New("checksum")}
	path := &fs.PathError{Op: "open", Path: "x", Err: syscall.EIO}
	for _, c := range []struct {
		name                            string
		err                             error
		corrupt, corruption, locked, io bool
	}{
		{name: "a store that is wrong", err: fmt.Errorf("open: %w", damaged), corrupt: true},
		{name: "Pebble's corruption", err: fmt.Errorf("read: %w", pebble.ErrCorruption), corrupt: true, corruption: true},
		{name: "a missing table", err: errors.New("file 000007 unknown to the objstorage provider"), corruption: true},
		{name: "a table that is cut off", err: errors.New("object size mismatch"), corruption: true},
		{name: "a missing file", err: &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, corruption: true, io: true},
		{name: "a failing disk", err: fmt.Errorf("read: %w", path), io: true},
		{name: "a lock of another process", err: fmt.Errorf("lock: %w", syscall.EAGAIN), locked: true, io: true},
		{name: "a lock of this process", err: errors.New("lock held by current process"), locked: true},
		{name: "anything else", err: errors.New("no")},
	} {
		if got := IsCorrupt(c.err); got != c.corrupt {
			t.Errorf("%s: IsCorrupt is %v", c.name, got)
		}
		if got := IsCorruption(c.err); got != c.corruption {
			t.Errorf("%s: IsCorruption is %v", c.name, got)
		}
		if got := IsLocked(c.err); got != c.locked {
			t.Errorf("%s: IsLocked is %v", c.name, got)
		}
		if got := IsIO(c.err); got != c.io {
			t.Errorf("%s: IsIO is %v", c.name, got)
		}
	}
	if IsLocked(nil) || IsCorrupt(nil) || IsIO(nil) {
		t.Error("no error says something")
	}
	if text := damaged.Error(); !strings.Contains(text, "store dir: corrupt: checksum") || !strings.Contains(text, "move the directory away") {
		t.Errorf("the text is %q", text)
	}
	if !errors.Is(damaged, damaged.Err) {
		t.Error("it does not unwrap")
	}
}

// TestALockedStore: the error shows that the store is locked.
func TestALockedStore(t *testing.T) {
	mem := vfs.NewMem()
	db, err := pebble.Open("dir", &pebble.Options{FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := pebble.Open("dir", &pebble.Options{FS: mem}); !IsLocked(err) {
		t.Errorf("a second opening: %v", err)
	}
}
