package store

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/private"
)

// Fuse stands between one store and its disk. It blows at the first write that fails, and at
// whatever Pebble calls fatal: it reports the error once, and from then on drops every write and
// says that it succeeded.
//
// Pebble answers a failed write of its log or its manifest by ending the process, or panics with
// its locks held or in a goroutine of its own, where nobody can recover: one full disk would end
// every partition of the node. With the fuse it never sees the failure, so that the store can be
// closed and its directory opened again. What is on disk then is what a crash at that moment
// leaves: no write that comes after a dropped one is done. What Pebble holds in memory is worth
// nothing any more, and the error that was reported says so to every reader and to the next Cut.
//
// A full disk does not blow it, if somebody waits for room (room.go).
type Fuse struct {
	vfs.FS
	dir    string
	log    pebble.Logger // nil: silent
	report func(error)
	err    atomic.Pointer[error]
	room   room
	stalls atomic.Int64

	mu      sync.Mutex
	lock    io.Closer // nil: not locked
	holding bool
	made    bool // Pebble has begun to write since hold
	kept    []string
}

// NewFuse stands before the disk of the store in dir; report is told the error that blows it.
func NewFuse(dir string, o Options, report func(error)) *Fuse {
	f := &Fuse{FS: o.FS, dir: dir, log: o.Logger, report: report, room: room{wait: o.Full}}
	if f.FS == nil {
		f.FS = private.FS
	}
	return f
}

// Blow reports the first error; all others are consequences.
func (f *Fuse) Blow(err error) {
	if f.err.Load() != nil {
		return
	}
	err = fmt.Errorf("store %s: %w; the files are as after a crash: open the store again once the disk works, or move the directory away to rebuild from the topics", f.dir, err)
	f.report(err)
	f.err.CompareAndSwap(nil, &err)
}

// Broken is the error that blew the fuse, nil while it is whole.
func (f *Fuse) Broken() error {
	if e := f.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Full is why writes wait for room on the disk, nil if none does.
func (f *Fuse) Full() error { return f.room.full() }

// do runs a write, or drops it. Where there is no room for it, it is run again when there is.
func (f *Fuse) do(write func() error) {
	if f.err.Load() == nil {
		if err := f.room.until(f.dir, write, func() bool { return f.err.Load() != nil }); err != nil {
			f.Blow(err)
		}
	}
}

// once runs a write that cannot be repeated, or drops it: after a sync that failed nobody knows
// what is on the disk.
func (f *Fuse) once(write func() error) {
	if f.err.Load() == nil {
		if err := write(); err != nil {
			f.Blow(err)
		}
	}
}

// open opens a file for writing, or a file of nowhere in its place.
func (f *Fuse) open(open func(vfs.FS) (vfs.File, error)) (vfs.File, error) {
	f.mu.Lock()
	f.made = true
	f.mu.Unlock()
	var file vfs.File
	f.do(func() (err error) {
		file, err = open(f.FS)
		return err
	})
	if f.err.Load() == nil {
		return &fusedFile{file, f}, nil
	}
	if file != nil {
		_ = file.Close() // nothing was written to it
	}
	return vfs.NewMem().Create("nowhere", vfs.WriteCategoryUnspecified)
}

// Unwrap implements vfs.FS.
func (f *Fuse) Unwrap() vfs.FS { return f.FS }

// Create implements vfs.FS.
func (f *Fuse) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(func(fs vfs.FS) (vfs.File, error) { return fs.Create(name, c) })
}

// OpenReadWrite implements vfs.FS.
func (f *Fuse) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.open(func(fs vfs.FS) (vfs.File, error) { return fs.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements vfs.FS.
func (f *Fuse) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(func(fs vfs.FS) (vfs.File, error) { return fs.ReuseForWrite(oldname, newname, c) })
}

// OpenDir implements vfs.FS. A directory is opened to be synced.
func (f *Fuse) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &fusedFile{file, f}, nil
}

// Lock implements vfs.FS. It makes a file.
func (f *Fuse) Lock(name string) (lock io.Closer, err error) {
	if failed := f.room.until(f.dir, func() error { lock, err = f.FS.Lock(name); return err }, func() bool { return false }); failed != nil {
		return nil, failed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lock = lock
	return unlocker{f}, nil
}

// unlocker is the lock as Pebble has it.
type unlocker struct{ f *Fuse }

func (u unlocker) Close() error { return u.f.Unlock() }

// Unlock lets others open the store. The fuse is blown, or the store is closed.
func (f *Fuse) Unlock() error {
	f.mu.Lock()
	lock := f.lock
	f.lock = nil
	f.mu.Unlock()
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// Link implements vfs.FS.
func (f *Fuse) Link(oldname, newname string) error {
	f.do(func() error { return f.FS.Link(oldname, newname) })
	return nil
}

// RemoveAll implements vfs.FS.
func (f *Fuse) RemoveAll(name string) error {
	f.do(func() error { return f.FS.RemoveAll(name) })
	return nil
}

// Rename implements vfs.FS.
func (f *Fuse) Rename(oldname, newname string) error {
	f.do(func() error { return f.FS.Rename(oldname, newname) })
	return nil
}

// MkdirAll implements vfs.FS.
func (f *Fuse) MkdirAll(dir string, perm os.FileMode) error {
	f.do(func() error { return f.FS.MkdirAll(dir, perm) })
	return nil
}

// Infof implements pebble.Logger.
func (f *Fuse) Infof(format string, args ...any) {
	if f.log != nil {
		f.log.Infof(format, args...)
	}
}

// Errorf implements pebble.Logger.
func (f *Fuse) Errorf(format string, args ...any) {
	if f.log != nil {
		f.log.Errorf(format, args...)
	}
}

// Fatalf implements pebble.Logger. It returns, which Pebble allows for: where it goes on it returns
// the error as well.
func (f *Fuse) Fatalf(format string, args ...any) { f.Blow(fmt.Errorf(format, args...)) }

// listener hears of what fails in Pebble's background: a block that is corrupt, a file that cannot
// be read. Pebble would try again at once and for ever; a store that is done for is to wait for its
// Close without taking a core.
func (f *Fuse) listener() *pebble.EventListener {
	return &pebble.EventListener{
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			f.heard(guard.Do("hearing of a corrupt file", func() { f.Blow(fmt.Errorf("corrupt: %s: %w", i.Path, i.Details)) }))
		},
		BackgroundError: func(err error) {
			f.heard(guard.Do("hearing of an error in the background", func() {
				if f.Broken() != nil {
					time.Sleep(10 * time.Millisecond)
				}
				f.Blow(err)
			}))
		},
		WriteStallBegin: func(pebble.WriteStallBeginInfo) {
			f.heard(guard.Do("counting a stall", func() { f.stalls.Add(1) }))
		},
	}
}

// heard blows the fuse if the listener panicked, which may have been in reporting an error.
func (f *Fuse) heard(err error) {
	if err != nil {
		_ = guard.Do("reporting it", func() { f.Blow(err) })
		f.err.CompareAndSwap(nil, &err)
	}
}
