package projections

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// opened returns a database behind a fuse of its own.
func opened(t *testing.T, disk vfs.FS) (*store.Fuse, *pebble.DB) {
	t.Helper()
	f := store.NewFuse("store", store.Options{FS: disk}, func(error) {})
	db, err := pebble.Open("store", store.PebbleOptions(f, store.Options{FS: disk}))
	if err != nil {
		t.Fatal(err)
	}
	return f, db
}

// TestPanicLetsTheStoreGo: a panic while a store is loaded becomes an error of Open, and the same
// process can open the directory again, even if an iterator was left open.
func TestPanicLetsTheStoreGo(t *testing.T) {
	disk := vfs.NewMem()
	for name, read := range map[string]func(db *pebble.DB) error{
		"at once": func(*pebble.DB) error { panic("planted") },
		"in the middle of an iteration": func(db *pebble.DB) error {
			it, err := db.NewIter(nil)
			if err != nil {
				return err
			}
			it.First()
			panic("planted")
		},
		"an error": func(*pebble.DB) error { return errDisk },
	} {
		f, db := opened(t, disk)
		err := f.Whole(db, func() error { return read(db) })
		if bug := guard.Of(err); !errors.Is(err, errDisk) && (bug == nil || bug.Value != "planted") {
			t.Errorf("%s: %v came out", name, err)
		}
	}
	f, db := opened(t, disk)
	if err := f.Whole(db, func() error { return nil }); err != nil {
		t.Errorf("without a panic: %v", err)
	}
	if err := db.Close(); err != nil { // the panic left it open
		t.Error(err)
	}
}

// stuck is a database whose Close waits until the test releases it.
type stuck chan struct{}

func (s stuck) Close() error { <-s; panic("planted in Close") }

// TestCloseThatWaitsHoldsNobodyUp: after a panic in Pebble, Close may wait forever for a lock that
// Pebble holds. Open nevertheless returns the error of the panic, and no other; the directory can
// be opened again, and writes of the old database no longer reach it.
func TestCloseThatWaitsHoldsNobodyUp(t *testing.T) {
	disk := vfs.NewMem()
	s := make(stuck)
	defer close(s)
	f, old := opened(t, disk)
	defer old.Close()
	if err := old.Set([]byte("before"), nil, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if bug := guard.Of(f.Whole(s, func() error { panic("planted") })); bug == nil || bug.Value != "planted" {
		t.Errorf("%v came out", bug)
	}
	_, db := opened(t, disk)
	_ = old.Set([]byte("after"), nil, pebble.Sync) // reports success
	if err := errors.Join(old.Flush(), old.Compact(t.Context(), []byte("a"), []byte("z"), false), db.Close()); err != nil {
		t.Error(err)
	}
	_, db = opened(t, disk)
	defer db.Close()
	for key, want := range map[string]error{"before": nil, "after": pebble.ErrNotFound} {
		_, c, err := db.Get([]byte(key))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", key, err, want)
		}
		if err == nil {
			c.Close()
		}
	}
}
