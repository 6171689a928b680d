//go:build unix

package private

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// modes fails if anybody but the owner may read or write a file below a directory.
func modes(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// New files are private, whatever the umask.
func TestNobodyElseReadsWhatIsMade(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // tests of this package run one after the other
	root := filepath.Join(t.TempDir(), "a")
	dir := filepath.Join(root, "b")
	if err := FS.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, make := range []func() (vfs.File, error){
		func() (vfs.File, error) { return FS.Create(at("created"), vfs.WriteCategoryUnspecified) },
		func() (vfs.File, error) { return FS.OpenReadWrite(at("opened"), vfs.WriteCategoryUnspecified) },
		func() (vfs.File, error) {
			return FS.ReuseForWrite(at("opened"), at("reused"), vfs.WriteCategoryUnspecified)
		},
	} {
		f, err := make()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	modes(t, root)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	modes(t, root)
}
