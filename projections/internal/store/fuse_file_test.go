package store

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTablesGiveWay: who writes a table pauses when it has written for long, and who writes another
// file does not.
func TestTablesGiveWay(t *testing.T) {
	fuse := NewFuse("dir", Options{FS: vfs.NewMem()}, func(err error) { t.Error(err) })
	for name, want := range map[string]bool{"000001.sst": true, "1" + temporary: true, "000001.log": false} {
		f, err := fuse.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-time.Second)
		file := f.(*fusedFile)
		file.pause = long
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if paused := file.pause.After(long); paused != want {
			t.Errorf("%s: pauses: %v", name, paused)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
