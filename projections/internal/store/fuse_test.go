package store

import (
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var errDisk = errors.New("the disk is broken")

// failingFS fails every write while err is set.
type failingFS struct {
	vfs.FS
	err    atomic.Pointer[error]
	writes atomic.Int64 // attempted writes
}

func (f *failingFS) fail(err error) { f.err.Store(&err) }

func (f *failingFS) write() error {
	f.writes.Add(1)
	if e := f.err.Load(); e != nil {
		return *e
	}
	return nil
}

func (f *failingFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.write(); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name, c)
	return &failingFile{file, f}, err
}

func (f *failingFS) Remove(name string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *failingFS) Rename(from, to string) error {
	if err := f.write(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

type failingFile struct {
	vfs.File
	fs *failingFS
}

// Write writes half of b before it fails, as a full disk does.
func (f *failingFile) Write(b []byte) (int, error) {
	if err := f.fs.write(); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *failingFile) Sync() error {
	if err := f.fs.write(); err != nil {
		return err
	}
	return f.File.Sync()
}

// newFuse returns a fuse in front of a disk in memory, and the errors that it reports.
func newFuse(t *testing.T, full func(error) bool) (*Fuse, *failingFS, *[]error) {
	t.Helper()
	disk := &failingFS{FS: vfs.NewMem()}
	var reported []error
	return NewFuse("dir", Options{FS: disk, Full: full}, func(err error) { reported = append(reported, err) }), disk, &reported
}

// content returns the content of a file, and whether the file exists.
func content(t *testing.T, fs vfs.FS, name string) (string, bool) {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), true
}

func create(t *testing.T, fs vfs.FS, name, text string) vfs.File {
	t.Helper()
	f, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTheFirstFailedWriteIsTheLast: Pebble gets no error, the fuse reports the error once, and no
// later write reaches the disk, even if the disk works again.
func TestTheFirstFailedWriteIsTheLast(t *testing.T) {
	fuse, disk, reported := newFuse(t, nil)
	f := create(t, fuse, "log", "one,")
	disk.fail(errDisk)
	if n, err := f.Write([]byte("two,")); n != 4 || err != nil {
		t.Errorf("the write that failed says %d, %v", n, err)
	}
	if len(*reported) != 1 || !errors.Is((*reported)[0], errDisk) || !strings.Contains((*reported)[0].Error(), "store dir") {
		t.Fatalf("reported: %v", *reported)
	}
	if err := fuse.Broken(); !errors.Is(err, errDisk) {
		t.Errorf("the fuse is broken by %v", err)
	}
	disk.err.Store(nil)
	for what, err := range map[string]error{
		"sync": f.Sync(), "rename": fuse.Rename("log", "other"), "remove": fuse.Remove("log"), "close": f.Close(), "link": fuse.Link("log", "copy"),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	g := create(t, fuse, "new", "text")
	_ = g.Close()
	if got, ok := content(t, disk.FS, "log"); !ok || got != "one,tw" {
		t.Errorf("on the disk is %q, %v", got, ok)
	}
	if names, _ := disk.List(""); !slices.Equal(names, []string{"log"}) {
		t.Errorf("files on the disk: %v", names)
	}
	if fuse.Blow(errors.New("another")); len(*reported) != 1 || !errors.Is(fuse.Broken(), errDisk) {
		t.Errorf("a consequence was reported: %v", *reported)
	}
}

// TestAFailedSyncIsNotRepeated: after a failed sync the content of the disk is unknown, whether the
// disk is full or not.
func TestAFailedSyncIsNotRepeated(t *testing.T) {
	fuse, disk, reported := newFuse(t, func(error) bool { t.Error("somebody waits for room"); return false })
	f := create(t, fuse, "log", "one")
	disk.fail(syscall.ENOSPC)
	before := disk.writes.Load()
	if err := f.Sync(); err != nil || len(*reported) != 1 || disk.writes.Load() != before+1 {
		t.Errorf("sync: %v, %d writes, reported %v", err, disk.writes.Load()-before, *reported)
	}
}

// TestAFullDiskIsWaitedFor: the write continues where it stopped as soon as there is space.
// Meanwhile the fuse reports why it waits.
func TestAFullDiskIsWaitedFor(t *testing.T) {
	var fuse *Fuse
	var disk *failingFS
	waits := 0
	fuse, disk, reported := newFuse(t, func(err error) bool {
		if !errors.Is(err, syscall.ENOSPC) || !errors.Is(fuse.Full(), syscall.ENOSPC) {
			t.Errorf("it waits for %v, and the fuse says %v", err, fuse.Full())
		}
		if waits++; waits == 2 {
			disk.err.Store(nil)
		}
		return true
	})
	f := create(t, fuse, "log", "one,")
	disk.fail(syscall.ENOSPC)
	if n, err := f.Write([]byte("twelve")); n != 6 || err != nil {
		t.Errorf("write: %d, %v", n, err)
	}
	if got, _ := content(t, disk.FS, "log"); got != "one,twelve" || waits != 2 {
		t.Errorf("on the disk is %q after %d waits", got, waits)
	}
	if fuse.Full() != nil || fuse.Broken() != nil || len(*reported) != 0 {
		t.Errorf("afterwards: full %v, broken %v, reported %v", fuse.Full(), fuse.Broken(), *reported)
	}
}

// TestWaitingForRoomEnds: a caller that waits for space may give up, and a blown fuse ends the
// wait.
func TestWaitingForRoomEnds(t *testing.T) {
	fuse, disk, reported := newFuse(t, func(error) bool { return false })
	f := create(t, fuse, "log", "")
	disk.fail(syscall.EDQUOT)
	if _, err := f.Write([]byte("ab")); err != nil || len(*reported) != 1 || !errors.Is(fuse.Broken(), syscall.EDQUOT) || fuse.Full() != nil {
		t.Errorf("%v, reported %v, full %v", err, *reported, fuse.Full())
	}
	var other *Fuse
	waits := 0
	other, disk, _ = newFuse(t, func(error) bool {
		if waits++; waits == 3 {
			other.Blow(errDisk)
		}
		return waits < 10
	})
	f = create(t, other, "log", "")
	disk.fail(syscall.ENOSPC)
	if _, err := f.Write([]byte("ab")); err != nil || waits != 3 || !errors.Is(other.Broken(), errDisk) {
		t.Errorf("%v after %d waits, broken by %v", err, waits, other.Broken())
	}
}

// TestHeldFilesStay: while a store is opened its tables and logs are not removed; a blown fuse
// keeps them for good.
func TestHeldFilesStay(t *testing.T) {
	for _, blown := range []bool{false, true} {
		fuse, disk, reported := newFuse(t, nil)
		for _, name := range []string{"1.sst", "2.log", "MANIFEST-1"} {
			_ = create(t, disk.FS, name, "x").Close()
		}
		fuse.Hold()
		for _, name := range []string{"1.sst", "2.log", "MANIFEST-1"} {
			if err := fuse.Remove(name); err != nil {
				t.Errorf("remove %s: %v", name, err)
			}
		}
		names, _ := disk.List("")
		if slices.Sort(names); !slices.Equal(names, []string{"1.sst", "2.log"}) {
			t.Errorf("while it is opened there are %v", names)
		}
		if blown {
			fuse.Blow(errDisk)
		}
		fuse.Release()
		if names, _ = disk.List(""); (len(names) == 2) != blown {
			t.Errorf("blown %v: afterwards there are %v", blown, names)
		}
		if !blown && len(*reported) != 0 {
			t.Errorf("reported %v", *reported)
		}
	}
}

// TestRemovingNothing: Remove reports that a file does not exist.
func TestRemovingNothing(t *testing.T) {
	fuse, _, reported := newFuse(t, nil)
	if err := fuse.Remove("nothing"); err == nil || len(*reported) != 0 {
		t.Errorf("%v, reported %v", err, *reported)
	}
}

// TestPebbleSurvivesABrokenDisk: a database with a broken disk closes in an orderly way, and opens
// again with the data that was synced before.
func TestPebbleSurvivesABrokenDisk(t *testing.T) {
	disk := &failingFS{FS: vfs.NewMem()}
	open := func() (*Fuse, *pebble.DB) {
		o := Options{FS: disk}
		f := NewFuse("dir", o, func(error) {})
		db, err := pebble.Open("dir", PebbleOptions(f, o))
		if err != nil {
			t.Fatal(err)
		}
		return f, db
	}
	fuse, db := open()
	if err := db.Set([]byte("a"), []byte("1"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if d := fuse.Disk(db); d.Bytes == 0 || len(d.Levels) == 0 {
		t.Errorf("the disk has %+v", d)
	}
	disk.fail(errDisk)
	if err := db.Set([]byte("b"), []byte("2"), pebble.Sync); err != nil {
		t.Errorf("Pebble heard of the failure: %v", err)
	}
	if err := db.Close(); err != nil || fuse.Broken() == nil {
		t.Errorf("close: %v, broken by %v", err, fuse.Broken())
	}
	disk.err.Store(nil)
	_, db = open()
	defer func() { _ = db.Close() }()
	if v, closer, err := db.Get([]byte("a")); err != nil || string(v) != "1" {
		t.Errorf("a is %q, %v", v, err)
	} else {
		_ = closer.Close()
	}
	if _, _, err := db.Get([]byte("b")); !errors.Is(err, pebble.ErrNotFound) {
		t.Errorf("b: %v", err)
	}
}

// A panic in Pebble's listener, which runs in goroutines of Pebble, blows the fuse. So does a panic
// of the function that reports events.
func TestPanicInTheListener(t *testing.T) {
	for what, hear := range map[string]func(*pebble.EventListener){
		"an error": func(l *pebble.EventListener) { l.BackgroundError(errDisk) },
		"a corrupt file": func(l *pebble.EventListener) {
			l.DataCorruption(pebble.DataCorruptionInfo{Path: "000001.sst", Details: errDisk})
		},
	} {
		reports := 0
		f := NewFuse("store", Options{FS: vfs.NewMem()}, func(error) { reports++; panic("planted") })
		hear(f.listener())
		if f.Broken() == nil || reports == 0 {
			t.Errorf("%s: broken %v after %d reports", what, f.Broken(), reports)
		}
	}
}
