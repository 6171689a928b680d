package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// written is a store that batches are written to.
type written struct {
	*testing.T
	fs   vfs.FS
	idle bool // without compactions
	db   *pebble.DB
	w    *Writer
	blew error
}

func (s *written) open(empty *identity.Header) {
	s.Helper()
	o := PebbleOptions(NewFuse("store", Options{FS: s.fs}, func(err error) { s.blew = err }), Options{MemTableSize: 256 << 10})
	o.Cache = pebble.NewCache(1 << 20)
	defer o.Cache.Unref()
	o.DisableAutomaticCompactions = s.idle
	db, err := pebble.Open("store", o)
	if err != nil {
		s.Fatal(err)
	}
	s.db, s.w = db, NewWriter(db, "store", o, empty)
}

// records returns all that batches have written to the store.
func (s *written) records() map[string]string {
	s.Helper()
	it, err := s.db.NewIter(nil)
	if err != nil {
		s.Fatal(err)
	}
	got := map[string]string{}
	for it.First(); it.Valid(); it.Next() {
		if kind := it.Key()[0]; kind != keys.Header && kind != keys.Cut {
			got[string(it.Key())] = string(it.Value())
		}
	}
	if err := it.Close(); err != nil {
		s.Fatal(err)
	}
	return got
}

func (s *written) close() {
	s.Helper()
	if err := s.db.Close(); err != nil || s.blew != nil {
		s.Fatal(err, s.blew)
	}
}

// TestWriter: whatever batches are written, and whichever of them become tables, the store has the
// last change of each key, also when it was closed or lost power between two batches.
func TestWriter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := &written{T: t, fs: vfs.NewCrashableMem()}
		s.open(&identity.Header{})
		want := map[string]string{}
		for n := range rapid.IntRange(1, 8).Draw(r, "batches") {
			batch := s.db.NewBatch()
			for range rapid.IntRange(1, 30).Draw(r, "changes") {
				key := fmt.Sprintf("%c%s", "CIR"[rapid.IntRange(0, 2).Draw(r, "kind")], strings.Repeat("x", rapid.IntRange(0, 12).Draw(r, "id")))
				if val := fmt.Sprint(n, rapid.Int().Draw(r, "value")); rapid.Bool().Draw(r, "set") {
					want[key] = val
					_ = batch.Set([]byte(key), []byte(val), nil)
				} else {
					delete(want, key)
					_ = batch.Delete([]byte(key), nil)
				}
			}
			if s.w.Large = 1 << 20; rapid.Bool().Draw(r, "table") {
				s.w.Large = 0
			}
			if err := s.w.Write(batch); err != nil {
				r.Fatal(err)
			}
			_ = batch.Close()
			if got := s.records(); !maps.Equal(got, want) {
				r.Fatalf("after batch %d the store has %v instead of %v", n, got, want)
			}
			switch rapid.IntRange(0, 3).Draw(r, "then") {
			case 0:
				s.close()
				s.open(nil)
			case 1:
				_ = s.db.LogData(nil, pebble.Sync) // Kafka has what is lost; here nothing is, so that there is one result
				s.fs = s.fs.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{RNG: rand.New(rand.NewPCG(1, uint64(n)))})
				_ = s.db.Close()
				s.open(nil)
			}
			if got := s.records(); !maps.Equal(got, want) {
				r.Fatalf("opened again after batch %d the store has %v instead of %v", n, got, want)
			}
		}
		s.close()
	})
}

// TestLargeBatch: a large batch becomes several tables, none of its bytes go into the log, and no
// other file stays.
func TestLargeBatch(t *testing.T) {
	s := &written{T: t, fs: vfs.NewMem()}
	s.open(nil)
	batch, want := s.db.NewBatch(), map[string]string{}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 3 * tableBytes / 1000 {
		val := make([]byte, 1000)
		for j := range val {
			val[j] = byte(rng.Uint32())
		}
		key := fmt.Sprintf("C%d", i)
		want[key] = string(val)
		_ = batch.Set([]byte(key), val, nil)
	}
	if err := s.w.Write(batch); err != nil {
		t.Fatal(err)
	}
	m := s.db.Metrics()
	if all := m.Total(); all.TableBytesIngested < uint64(len(want)*1000) || all.TablesIngested < 2 || m.WAL.BytesWritten > 1000 {
		t.Errorf("%d bytes in %d tables, %d bytes in the log", all.TableBytesIngested, all.TablesIngested, m.WAL.BytesWritten)
	}
	if !maps.Equal(s.records(), want) {
		t.Error("the store has other records")
	}
	s.close()
	names, err := s.fs.List("store")
	if err != nil || slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".dbtmp" }) {
		t.Errorf("%v, the directory has %v", err, names)
	}
}

// TestNoTablesWithoutState: a crash around the first batches never leaves tables without state, which
// Survey would take for a damaged store.
func TestNoTablesWithoutState(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		fs := vfs.NewCrashableMem()
		var crashed []*vfs.MemFS
		s := &written{T: t, fs: snapping{fs, func() {
			crashed = append(crashed, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng}))
		}}}
		s.open(&identity.Header{})
		for n := range 3 {
			s.w.Large = rng.IntN(2) << 20
			batch := s.db.NewBatch()
			_ = batch.Set([]byte{'C', byte(n)}, nil, nil)
			if err := s.w.Write(batch); err != nil {
				t.Fatal(err)
			}
		}
		s.close()
		for i, left := range crashed {
			tables, err := Survey(left, "store")
			if err != nil || !tables {
				continue
			}
			after := &written{T: t, fs: left}
			after.open(nil)
			it, err := after.db.NewIter(nil)
			if err != nil {
				t.Fatal(err)
			}
			if !it.First() {
				t.Errorf("seed %d: crash %d leaves tables and no records", seed, i)
			}
			_ = it.Close()
			after.close()
		}
	}
}

// snapping calls crash after each link and before each removal of a file.
type snapping struct {
	vfs.FS
	crash func()
}

func (s snapping) Link(oldname, newname string) error {
	err := s.FS.Link(oldname, newname)
	s.crash()
	return err
}

func (s snapping) Remove(name string) error {
	s.crash()
	return s.FS.Remove(name)
}

// TestTablesDoNotWait: tables never wait behind a memtable. If they did, Pebble's log would name them,
// and a copy of the store that is made at that moment would lack them.
func TestTablesDoNotWait(t *testing.T) {
	s := &written{T: t, fs: vfs.NewMem()}
	s.open(nil)
	for n := range 10 {
		s.w.Large = n % 2 << 20
		batch := s.db.NewBatch()
		_ = batch.Set([]byte("C"), []byte(fmt.Sprint(n)), nil)
		if err := s.w.Write(batch); err != nil {
			t.Fatal(err)
		}
		if got := s.records()["C"]; got != fmt.Sprint(n) {
			t.Errorf("after batch %d the store has %q", n, got)
		}
	}
	if m := s.db.Metrics(); m.Flush.AsIngestCount != 0 || m.Total().TablesIngested != 5 {
		t.Errorf("%d tables, of which %d waited", m.Total().TablesIngested, m.Flush.AsIngestTableCount)
	}
	s.close()
}

// linkless is a file system without hard links.
type linkless struct{ vfs.FS }

func (linkless) Link(string, string) error {
	return &os.LinkError{Op: "link", Err: syscall.ENOTSUP}
}

// TestWithoutHardLinks: on a disk without hard links, Pebble copies the tables.
func TestWithoutHardLinks(t *testing.T) {
	s := &written{T: t, fs: linkless{vfs.NewMem()}}
	s.open(nil)
	s.w.Large = 0
	batch := s.db.NewBatch()
	_ = batch.Set([]byte("C"), []byte("value"), nil)
	if err := s.w.Write(batch); err != nil {
		t.Fatal(err)
	}
	if got := s.records()["C"]; got != "value" {
		t.Errorf("the store has %q", got)
	}
	s.close()
}

// TestCrowded: while compactions are far behind, a large batch goes through the log, for which
// Pebble lets writers wait.
func TestCrowded(t *testing.T) {
	s := &written{T: t, fs: vfs.NewMem(), idle: true}
	s.open(nil)
	s.w.Large = 0
	for n := range 2 * crowded {
		batch := s.db.NewBatch()
		_ = batch.Set([]byte("key"), []byte(fmt.Sprint(n)), nil)
		if err := s.w.Write(batch); err != nil {
			t.Fatal(err)
		}
		if all := s.db.Metrics().Total(); all.TablesIngested != uint64(min(n+1, crowded+1)) {
			t.Fatalf("%d tables after %d batches", all.TablesIngested, n+1)
		}
	}
	if got := s.records()["key"]; got != fmt.Sprint(2*crowded-1) {
		t.Errorf("the store has %q", got)
	}
	s.close()
}
