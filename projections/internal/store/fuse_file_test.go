package store

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestTablesGiveWay: the writer of a table pauses when a pause is due, and then not for twice as long as
// the pause took. Writers of other files do not pause.
func TestTablesGiveWay(t *testing.T) {
	fuse := NewFuse("dir", Options{FS: vfs.NewMem()}, func(err error) { t.Error(err) })
	for name, table := range map[string]bool{"000001.sst": true, "1" + temporary: true, "000001.log": false} {
		created, err := fuse.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f, pauses := created.(*fusedFile), 0
		pause := func() {
			pauses++
			time.Sleep(time.Millisecond)
		}
		f.pause = time.Now().Add(time.Hour)
		if f.giveWay(pause); pauses > 0 {
			t.Errorf("%s: a pause that is not due", name)
		}
		f.pause = time.Now().Add(-time.Second)
		began := time.Now()
		if f.giveWay(pause); (pauses == 1) != table {
			t.Errorf("%s: %d pauses when one is due", name, pauses)
		}
		if next := f.pause.Sub(began); table && next < 3*time.Millisecond {
			t.Errorf("%s: the next pause is due %v after one of 1 ms began", name, next)
		}
		f.pause = began.Add(-time.Second)
		if _, err := f.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if paused := f.pause.After(began); paused != table {
			t.Errorf("%s: a write pauses: %v", name, paused)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
