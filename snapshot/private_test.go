//go:build unix

package snapshot

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func openTestDir(t *testing.T) (Bucket, string) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "snapshots")
	b, err := openDir(&url.URL{Scheme: "file", Path: root})
	if err != nil {
		t.Fatal(err)
	}
	return b, root
}

// Only their owner can read snapshots in a directory, whatever the umask and the previous
// permissions.
func TestSnapshotsInADirectoryArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // no other test of this package runs in parallel
	b, root := openTestDir(t)
	if err := os.MkdirAll(filepath.Join(root, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"p/1/table", "old/table"} {
		if err := b.Put(t.Context(), key, bytes.NewReader([]byte("x")), 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.PutIf(t.Context(), "p/manifest.json", []byte("{}"), ""); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The directory of the snapshots is created for its owner alone, whatever the umask, and is usable.
// An existing directory keeps its permissions.
func TestTheRootOfSnapshotsIsPrivate(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077, 0o277} {
		func() {
			there, root := filepath.Join(t.TempDir(), "there"), filepath.Join(t.TempDir(), "snapshots")
			if err := os.Mkdir(there, 0o750); err != nil {
				t.Fatal(err)
			}
			defer syscall.Umask(syscall.Umask(umask)) // no other test of this package runs in parallel
			b, err := openDir(&url.URL{Scheme: "file", Path: root})
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(root); err != nil || info.Mode() != os.ModeDir|0o700 {
				t.Errorf("umask %#o: the root is %v, %v", umask, info.Mode(), err)
			}
			if err := b.Put(t.Context(), "table", bytes.NewReader([]byte("x")), 1); err != nil {
				t.Errorf("umask %#o: %v", umask, err)
			}
			if _, err := openDir(&url.URL{Scheme: "file", Path: there}); err != nil {
				t.Error(err)
			}
			if info, err := os.Stat(there); err != nil || info.Mode().Perm() != 0o750 {
				t.Errorf("umask %#o: a directory that was there is %v, %v", umask, info.Mode(), err)
			}
		}()
	}
}

// Anything but a regular file is refused with an explanation, and blocks no caller.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	b, root := openTestDir(t)
	if err := os.WriteFile(filepath.Join(root, "secret"), []byte("of others"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(path string) error{
		"a FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link":      func(path string) error { return os.Symlink(filepath.Join(root, "secret"), path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(root, "manifest.json")
		if err := plant(path); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 2)
		go func() {
			_, _, err := b.Get(t.Context(), "manifest.json")
			done <- err
			done <- b.PutIf(t.Context(), "manifest.json", []byte("{}"), "x")
		}()
		for _, what := range []string{"Get", "PutIf"} {
			select {
			case err := <-done:
				if err == nil || !strings.Contains(err.Error(), "not a regular file") {
					t.Errorf("%s, %s: %v", what, name, err)
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s of %s hangs", what, name)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
