package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/testkit/fulldisk"
)

// uncompacted is a store whose hot records are in several levels, beside records of other kinds.
type uncompacted struct {
	written
	fuse *Fuse
	full atomic.Bool // for tables
}

func newUncompacted(t *testing.T, wait func(error) bool) *uncompacted {
	t.Helper()
	s := &uncompacted{written: written{T: t}}
	s.fs = fulldisk.New(vfs.NewMem(), func(name string) bool { return s.full.Load() && path.Ext(name) == ".sst" })
	s.fuse = NewFuse("store", Options{FS: s.fs, Full: wait}, func(err error) { s.blew = err })
	o := PebbleOptions(s.fuse, Options{MemTableSize: 256 << 10})
	o.Cache = pebble.NewCache(1 << 20)
	defer o.Cache.Unref()
	o.DisableAutomaticCompactions = true
	db, err := pebble.Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	s.db = db
	for range 3 { // the first goes below the others
		s.fill(0, 2000)
		if err := db.Compact(t.Context(), []byte("C"), []byte("D"), false); err != nil {
			t.Fatal(err)
		}
	}
	s.fill(1, 2000)
	s.fill(2, 2000)
	return s
}

// fill writes records of three kinds as tables of level 0.
func (s *uncompacted) fill(round, n int) {
	s.Helper()
	for _, kind := range "CIR" {
		for i := range n {
			if err := s.db.Set(fmt.Appendf(nil, "%c%06d", kind, i), fmt.Appendf(nil, "%d %d %d", round, i, i*i*7919), pebble.NoSync); err != nil {
				s.Fatal(err)
			}
		}
		if err := s.db.Flush(); err != nil {
			s.Fatal(err)
		}
	}
}

// tables returns the tables of each kind of records with their sizes.
func (s *uncompacted) tables(kind byte) map[string]uint64 {
	s.Helper()
	levels, err := s.db.SSTables()
	if err != nil {
		s.Fatal(err)
	}
	names := map[string]uint64{}
	for _, level := range levels {
		for _, table := range level {
			if table.Smallest.UserKey[0] == kind {
				names[fmt.Sprintf("%06d.sst", table.FileNum)] = table.Size
			}
		}
	}
	return names
}

func never(string, uint64) bool { return false }

func notBusy() string { return "" }

// TestCompactHot: hot records go to the lowest level if a copy has less than half of their bytes. Tables of
// other records stay, all records stay, and a second CompactHot does nothing.
func TestCompactHot(t *testing.T) {
	s := newUncompacted(t, nil)
	defer s.close()
	before, others := s.records(), [2]map[string]uint64{s.tables('I'), s.tables('R')}
	hot := s.tables('C')
	if len(hot) < 3 {
		t.Fatalf("only %d tables have hot records", len(hot))
	}
	inCopy := func(copied map[string]uint64) func(string, uint64) bool {
		return func(name string, size uint64) bool { return copied[name] == size }
	}
	if did, err := s.fuse.CompactHot(t.Context(), s.db, inCopy(hot), notBusy); err != nil || did.Done || did.Skipped != "" || !maps.Equal(s.tables('C'), hot) {
		t.Errorf("with a copy of everything: %+v, %v", did, err)
	}
	if did, err := s.fuse.CompactHot(t.Context(), s.db, never, func() string { return "it is busy" }); err != nil || did.Done || did.Skipped != "it is busy" ||
		!maps.Equal(s.tables('C'), hot) {
		t.Errorf("while it is busy: %+v, %v", did, err)
	}
	other := maps.Clone(hot) // of the same names
	for name := range other {
		other[name]++
	}
	did, err := s.fuse.CompactHot(t.Context(), s.db, inCopy(other), notBusy)
	if err != nil || !did.Done || did.Before <= did.After || did.After == 0 {
		t.Errorf("%+v, %v", did, err)
	}
	if _, above, err := hotTables(s.db); err != nil || above > 0 {
		t.Errorf("%d tables are above the lowest level, %v", above, err)
	}
	if !maps.Equal(s.tables('I'), others[0]) || !maps.Equal(s.tables('R'), others[1]) {
		t.Error("tables of other records were written again")
	}
	if !maps.Equal(s.records(), before) {
		t.Error("the records are others")
	}
	hot = s.tables('C')
	if did, err = s.fuse.CompactHot(t.Context(), s.db, never, notBusy); err != nil || did.Done || !maps.Equal(s.tables('C'), hot) {
		t.Errorf("once more: %+v, %v", did, err)
	}
}

// TestCompactHotNeedsRoom: nothing is compacted if the disk has less room than twice the tables.
func TestCompactHotNeedsRoom(t *testing.T) {
	s := newUncompacted(t, nil)
	defer s.close()
	hot := s.tables('C')
	var size uint64
	for _, n := range hot {
		size += n
	}
	for _, c := range []struct {
		room uint64
		done bool
	}{{2*size - 1, false}, {2 * size, true}} {
		s.fuse.FS = room{s.fs, c.room}
		did, err := s.fuse.CompactHot(t.Context(), s.db, never, notBusy)
		if err != nil || did.Done != c.done || c.done == (did.Skipped != "") {
			t.Errorf("with room for %d bytes: %+v, %v", c.room, did, err)
		}
	}
}

// room is a disk with this many bytes left.
type room struct {
	vfs.FS
	left uint64
}

func (r room) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: r.left}, nil
}

// TestCompactHotOnAFullDisk: on a full disk CompactHot waits as every write does, and continues with room
// again. It ends at once if its context does. If nothing may wait the disk blows the fuse.
func TestCompactHotOnAFullDisk(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		waits := make(chan struct{}, 1)
		s := newUncompacted(t, func(error) bool {
			select {
			case waits <- struct{}{}:
			default:
			}
			time.Sleep(time.Millisecond)
			return true
		})
		before := s.records()
		s.full.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.fuse.CompactHot(ctx, s.db, never, notBusy)
			ended <- err
		}()
		<-waits
		if s.fuse.Full() == nil {
			t.Error("the store does not say that its disk is full")
		}
		if cancelled {
			cancel()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("cancelled: %v", err)
				}
			case <-time.After(time.Minute):
				t.Fatal("CompactHot waits for the full disk although its context is done")
			}
		}
		s.full.Store(false)
		if !cancelled {
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if _, above, err := hotTables(s.db); err != nil || above > 0 {
				t.Errorf("with room again %d tables are above the lowest level, %v", above, err)
			}
		}
		if !maps.Equal(s.records(), before) {
			t.Error("the records are others")
		}
		cancel()
		s.close()
	}
	s := newUncompacted(t, nil)
	s.full.Store(true)
	_, err := s.fuse.CompactHot(t.Context(), s.db, never, notBusy)
	if !errors.Is(s.fuse.Broken(), syscall.ENOSPC) || !errors.Is(s.blew, syscall.ENOSPC) {
		t.Errorf("the fuse is broken by %v, CompactHot says %v", s.fuse.Broken(), err)
	}
	_ = s.db.Close()
}

// TestCompactHotEndsEarly: with a context that is done nothing is compacted.
func TestCompactHotEndsEarly(t *testing.T) {
	s := newUncompacted(t, nil)
	defer s.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	hot := s.tables('C')
	if did, err := s.fuse.CompactHot(ctx, s.db, never, notBusy); !errors.Is(err, context.Canceled) || did.Done || !maps.Equal(s.tables('C'), hot) {
		t.Errorf("%+v, %v", did, err)
	}
}

// TestPieces: the pieces cover the range of the hot records without a gap, and each has tables of
// about 16 MiB.
func TestPieces(t *testing.T) {
	table := func(first string, mib uint64) (i pebble.SSTableInfo) {
		i.Smallest.UserKey, i.Size = []byte(first), mib<<20
		return i
	}
	for _, c := range []struct {
		want string
		hot  []pebble.SSTableInfo
	}{
		{"C-D", []pebble.SSTableInfo{table("Ca", 2), table("Cb", 2)}},
		{"C-Cc Cc-Ce Ce-D", []pebble.SSTableInfo{table("Ca", 8), table("Cb", 8), table("Cc", 10), table("Cd", 9), table("Ce", 1)}},
		{"C-Cb Cb-D", []pebble.SSTableInfo{table("Ca", 40), table("Cb", 8), table("Cb", 4), table("Cb", 3)}},
		{"C-Cb Cb-D", []pebble.SSTableInfo{table("Ca", 40), table("Cb", 20), table("Cb", 20)}}, // of several levels
	} {
		var got []string
		for _, p := range pieces(c.hot) {
			got = append(got, string(p.from)+"-"+string(p.to))
		}
		if strings.Join(got, " ") != c.want || !slices.IsSorted(got) {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
}
