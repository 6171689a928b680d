package fulldisk_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/testkit/fulldisk"
)

const text = "ten bytes!"

// disk returns a file system with a directory and a file of ten bytes in it, and the switch that
// makes it full.
func disk(t *testing.T) (*fulldisk.FS, *atomic.Bool) {
	t.Helper()
	var full atomic.Bool
	d := fulldisk.New(vfs.NewMem(), func(name string) bool { return full.Load() && !strings.HasPrefix(name, "roomy") })
	if err := d.MkdirAll("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, d, "dir/old")
	return d, &full
}

func write(t *testing.T, d vfs.FS, name string) {
	t.Helper()
	f, err := d.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, d vfs.FS, name string) string {
	t.Helper()
	f, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestWhatTakesRoomFails: operations that need space fail, name the place and the reason, and keep
// existing files. Other operations succeed, and all succeed once there is space again.
func TestWhatTakesRoomFails(t *testing.T) {
	d, full := disk(t)
	operations := map[string]func(vfs.FS) error{
		"create": func(fs vfs.FS) error { return closed(fs.Create("dir/new", vfs.WriteCategoryUnspecified)) },
		"open":   func(fs vfs.FS) error { return closed(fs.OpenReadWrite("dir/opened", vfs.WriteCategoryUnspecified)) },
		"reuse": func(fs vfs.FS) error {
			return closed(fs.ReuseForWrite("dir/old", "dir/new", vfs.WriteCategoryUnspecified))
		},
		"lock": func(fs vfs.FS) error {
			l, err := fs.Lock("dir/lock")
			if err == nil {
				err = l.Close()
			}
			return err
		},
		"link":   func(fs vfs.FS) error { return fs.Link("dir/old", "dir/new") },
		"rename": func(fs vfs.FS) error { return fs.Rename("dir/old", "dir/new") },
		"mkdir":  func(fs vfs.FS) error { return fs.MkdirAll("dir/below", 0o755) },
	}
	full.Store(true)
	for name, do := range operations {
		err := do(d)
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "dir/") {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
	names, err := d.List("dir")
	if err != nil || len(names) != 1 || names[0] != "old" {
		t.Errorf("a full disk holds %v (%v), want what it held", names, err)
	}
	if got := content(t, d, "dir/old"); got != text {
		t.Errorf("it holds %q", got)
	}
	if err := closed(d.Create("roomy", vfs.WriteCategoryUnspecified)); err != nil {
		t.Errorf("a file for which there is room: %v", err)
	}
	if err := d.Remove("dir/old"); err != nil {
		t.Errorf("a removal takes no room: %v", err)
	}

	full.Store(false)
	for name, do := range operations {
		write(t, d, "dir/old")
		if err := d.Remove("dir/new"); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := do(d); err != nil {
			t.Errorf("%s with room: %v", name, err)
		}
	}
}

func closed(f vfs.File, err error) error {
	if err == nil {
		err = f.Close()
	}
	return err
}

// TestHalfOfAWriteIsWritten: a write fails after half of its bytes, as on a disk that fills up
// meanwhile, also in a file that was opened before.
func TestHalfOfAWriteIsWritten(t *testing.T) {
	d, full := disk(t)
	f, err := d.OpenReadWrite("dir/old", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full.Store(true)
	if n, err := f.WriteAt([]byte("ABCDEFGHIJ"), 0); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("WriteAt wrote %d: %v; want half of 10 bytes, and no room", n, err)
	}
	if got := content(t, d, "dir/old"); got != "ABCDEytes!" {
		t.Errorf("the file holds %q", got)
	}
	full.Store(false)
	g, err := d.Create("dir/new", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	full.Store(true)
	if n, err := g.Write([]byte(text)); n != 5 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Write wrote %d: %v; want half of 10 bytes, and no room", n, err)
	}
	full.Store(false)
	if n, err := g.Write([]byte("more")); n != 4 || err != nil {
		t.Errorf("with room again it wrote %d: %v", n, err)
	}
	if got := content(t, d, "dir/new"); got != "ten bmore" {
		t.Errorf("the new file holds %q", got)
	}
}

// TestAnotherErrorThanNoRoom: a test can set another error, such as that of a quota or a broken
// disk.
func TestAnotherErrorThanNoRoom(t *testing.T) {
	d, full := disk(t)
	d.Err = syscall.EDQUOT
	full.Store(true)
	if err := d.MkdirAll("dir/below", 0o755); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("%v", err)
	}
	if vfs.Root(d) == vfs.FS(d) {
		t.Error("what is below the full disk is hidden from Pebble")
	}
}
