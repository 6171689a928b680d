package store

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// cut commits a batch with the link that follows number.
func cut(t *testing.T, db *pebble.DB, number uint64) uint64 {
	t.Helper()
	b := db.NewBatch()
	next, err := Link(b, number, keys.Digest{number + 1, 7})
	if err == nil {
		err = b.Commit(pebble.NoSync)
	}
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func memory(t *testing.T) *pebble.DB {
	t.Helper()
	db, err := pebble.Open("dir", &pebble.Options{FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// TestChain: the newest link has the number of the last cut and its digest, after any number of
// cuts.
func TestChain(t *testing.T) {
	db, number := memory(t), uint64(0)
	if got, hot, err := LoadChain(db, true); got != 0 || hot != [16]byte{} || err != nil {
		t.Errorf("before the first cut: number %d, digest %x, %v", got, hot, err)
	}
	for range 5 {
		number = cut(t, db, number)
		got, hot, err := LoadChain(db, false)
		if want := (keys.Digest{number, 7}).Bytes(); err != nil || got != number || hot != want {
			t.Errorf("cut %d: number %d, digest %x, %v", number, got, hot, err)
		}
	}
}

// TestLostCuts: a store that has lost a run of cuts is refused, wherever the run was and whatever
// followed it.
func TestLostCuts(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(db *pebble.DB)
		want string
	}{
		"nothing is left": {func(db *pebble.DB) {}, "first cuts are missing"},
		"the first cuts": {func(db *pebble.DB) {
			_ = cut(t, db, 3)
			_ = cut(t, db, 4)
		}, "first cuts are missing"},
		"the first cut, behind the header that Writer writes before it": {func(db *pebble.DB) {
			_ = db.Set([]byte{keys.Header}, nil, nil)
			_ = cut(t, db, 1)
		}, "first cuts are missing"},
		"cuts in the middle": {func(db *pebble.DB) {
			_ = cut(t, db, cut(t, db, 0))
			_ = cut(t, db, 7) // the links from 3 to 7 are lost, and so is the deletion of 2
		}, "cuts that followed number 2 are missing"},
		"the last cut": {func(db *pebble.DB) {
			_ = cut(t, db, 0)
			_ = db.Delete(keys.AppendCut(nil, 1), nil)
		}, "last cut is missing"},
		"a digest that is cut short": {func(db *pebble.DB) {
			_ = cut(t, db, 0)
			_ = db.Set(keys.AppendCut(nil, 1), []byte{1, 2, 3}, nil)
		}, "3 bytes instead of 16"},
		"a key that is cut short": {func(db *pebble.DB) {
			_ = cut(t, db, 0)
			_ = db.Set(keys.AppendCut(nil, 1)[:5], nil, nil)
		}, "malformed key"},
	} {
		db := memory(t)
		c.lose(db)
		if number, _, err := LoadChain(db, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: number %d, %v; want %q", name, number, err, c.want)
		}
	}
}
