//go:build unix

package projections

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Only their owner may read stores and copies of them, whatever the umask and the earlier mode of
// the directory.
func TestStoresArePrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	root := t.TempDir()
	dir := filepath.Join(root, "store")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	id := Identity{ClusterID: "test", Partitions: 1, Settings: DefaultSettings()}
	p, err := Open(dir, id, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.Lock()
	err = p.Close()
	p.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenStopped(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Checkpoint(filepath.Join(root, "copy")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		files++
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
}
