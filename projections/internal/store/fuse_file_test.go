package store

import (
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/giveway"
)

// TestTablesGiveWay: the writer of a table pauses for a query if a pause is due, and then not for at
// least pauseEvery. Without a query, and in other files, it does not pause.
func TestTablesGiveWay(t *testing.T) {
	fuse := NewFuse("dir", Options{FS: vfs.NewMem()}, func(err error) { t.Error(err) })
	for name, table := range map[string]bool{"000001.sst": true, "1" + temporary: true, "000001.log": false} {
		created, err := fuse.Create(name, vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		f := created.(*fusedFile)
		write := func() (next time.Duration) {
			began := time.Now()
			if _, err := f.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			return f.next.Sub(began)
		}
		if write(); !f.next.IsZero() {
			t.Errorf("%s: a pause without a query", name)
		}
		giveway.Begin()
		if next := write(); (next > pauseEvery) != table {
			t.Errorf("%s: beside a query the next pause is due %v after a write began", name, next)
		}
		f.next = time.Now().Add(time.Hour)
		if next := write(); next < 59*time.Minute {
			t.Errorf("%s: a pause that is not due", name)
		}
		giveway.End()
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
