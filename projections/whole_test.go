package projections

import (
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// panics runs f and returns what it panics with.
func panics(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// TestPanicLetsTheStoreGo: what panics while a store is loaded goes on to whoever opens it, and the directory can be opened
// again by the same process, also if an iterator was left open.
func TestPanicLetsTheStoreGo(t *testing.T) {
	disk := vfs.NewMem()
	open := func() *pebble.DB {
		db, err := pebble.Open("store", pebbleOptions("store", Options{FS: disk}))
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	for name, f := range map[string]func(db *pebble.DB) error{
		"at once": func(*pebble.DB) error { panic("planted") },
		"in the middle of an iteration": func(db *pebble.DB) error {
			it, err := db.NewIter(nil)
			if err != nil {
				return err
			}
			it.First()
			panic("planted")
		},
	} {
		db := open()
		if got := panics(func() { _ = whole(db, func() error { return f(db) }) }); got != "planted" {
			t.Errorf("%s: %v came out", name, got)
		}
	}
	db := open()
	if err := whole(db, func() error { return errDisk }); !errors.Is(err, errDisk) {
		t.Errorf("without a panic: %v", err)
	}
	if err := db.Close(); err != nil { // it was left open
		t.Error(err)
	}
}

// stuck is closed by nobody until it is let go.
type stuck chan struct{}

func (s stuck) Close() error { <-s; panic("planted in Close") }

// TestCloseThatWaitsHoldsNobodyUp: after a panic in Pebble what Close waits for may never come. Whoever opens the store hears
// of the panic all the same, and of no other one.
func TestCloseThatWaitsHoldsNobodyUp(t *testing.T) {
	s := make(stuck)
	defer close(s)
	if got := panics(func() { _ = whole(s, func() error { panic("planted") }) }); got != "planted" {
		t.Errorf("%v came out", got)
	}
}
