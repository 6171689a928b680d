package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/private"
)

// Fuse stands between one store and its disk. It blows at the first write that fails, and at any
// error that Pebble calls fatal. Then it reports the error once, and from then on drops every write
// and reports success to Pebble.
//
// Pebble reacts to a failed write of its log or its manifest by ending the process, or by a panic
// that nobody can recover, with its locks held or in a goroutine of its own: one full disk would
// end every partition of the node. Behind a fuse, Pebble never sees the failure, so the store can
// be closed and its directory opened again. The disk is then as after a crash at that moment,
// because no write after a dropped one is executed. What Pebble holds in memory is worthless from
// then on; the reported error tells every reader and the next Cut.
//
// A full disk does not blow the fuse if Options.Full waits for space (full_disk.go).
type Fuse struct {
	vfs.FS
	dir      string
	log      pebble.Logger // nil: silent
	report   func(error)
	err      atomic.Pointer[error]
	fullDisk fullDisk
	stalls   atomic.Int64

	mu      sync.Mutex
	lock    io.Closer // nil: not locked
	holding bool
	made    bool // Pebble has begun to write since Hold
	kept    []string
}

// NewFuse returns a fuse for the disk of the store in dir. It calls report with the error that
// blows it.
func NewFuse(dir string, o Options, report func(error)) *Fuse {
	f := &Fuse{FS: o.FS, dir: dir, log: o.Logger, report: report, fullDisk: fullDisk{wait: o.Full}}
	if f.FS == nil {
		f.FS = private.FS
	}
	return f
}

// Blow reports the first error. Later ones are consequences of it and are ignored.
func (f *Fuse) Blow(err error) {
	if f.err.Load() != nil {
		return
	}
	err = fmt.Errorf("store %s: %w; the files are as after a crash: open the store again once the disk works, or move the directory away to rebuild from the topics", f.dir, err)
	f.report(err)
	f.err.CompareAndSwap(nil, &err)
}

// Broken returns the error that blew the fuse, or nil.
func (f *Fuse) Broken() error {
	if e := f.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Full returns the error for which writes wait until the disk has space again, or nil.
func (f *Fuse) Full() error { return f.fullDisk.full() }

// do executes a write, or drops it. If the disk is full, do executes it again when there is space.
func (f *Fuse) do(write func() error) {
	if f.err.Load() == nil {
		if err := f.fullDisk.until(f.dir, write, func() bool { return f.err.Load() != nil }); err != nil {
			f.Blow(err)
		}
	}
}

// once executes a write that cannot be repeated, or drops it. After a failed sync the contents of
// the disk are unknown.
func (f *Fuse) once(write func() error) {
	if f.err.Load() == nil {
		if err := write(); err != nil {
			f.Blow(err)
		}
	}
}

// open opens a file for writing. Once the fuse is blown it returns a file in memory instead.
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
		return &fusedFile{File: file, fuse: f}, nil
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
	file, err := f.open(func(fs vfs.FS) (vfs.File, error) { return fs.Create(name, c) })
	if made, ok := file.(*fusedFile); ok {
		made.table = strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, temporary)
	}
	return file, err
}

// OpenReadWrite implements vfs.FS.
func (f *Fuse) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return f.open(func(fs vfs.FS) (vfs.File, error) { return fs.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements vfs.FS.
func (f *Fuse) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return f.open(func(fs vfs.FS) (vfs.File, error) { return fs.ReuseForWrite(oldname, newname, c) })
}

// Dir returns the directory of the store.
func (f *Fuse) Dir() string { return f.dir }

// OpenDir implements vfs.FS. Pebble opens a directory to sync it.
func (f *Fuse) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &fusedFile{File: file, fuse: f}, nil
}

// Lock implements vfs.FS. It creates a file.
func (f *Fuse) Lock(name string) (lock io.Closer, err error) {
	if failed := f.fullDisk.until(f.dir, func() error { lock, err = f.FS.Lock(name); return err }, func() bool { return false }); failed != nil {
		return nil, failed
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lock = lock
	return unlocker{f}, nil
}

// unlocker is the lock that Pebble gets.
type unlocker struct{ f *Fuse }

func (u unlocker) Close() error { return u.f.Unlock() }

// Unlock lets others open the store. Call it once the fuse is blown or the store is closed.
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

// Link implements vfs.FS. It returns the error of a file system without hard links: Pebble copies the
// file then.
func (f *Fuse) Link(oldname, newname string) (without error) {
	f.do(func() error {
		err := f.FS.Link(oldname, newname)
		if errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EMLINK) {
			without, err = err, nil
		}
		return err
	})
	return without
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

// Fatalf implements pebble.Logger. It returns, which Pebble allows: Pebble then also returns the
// error.
func (f *Fuse) Fatalf(format string, args ...any) { f.Blow(fmt.Errorf(format, args...)) }

// listener blows the fuse on errors in Pebble's background work, such as a corrupt block or an
// unreadable file. Pebble would retry at once, forever; a broken store should wait for its Close
// without using a core.
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

// heard blows the fuse if the listener panicked, possibly while it reported an error.
func (f *Fuse) heard(err error) {
	if err != nil {
		_ = guard.Do("reporting it", func() { f.Blow(err) })
		f.err.CompareAndSwap(nil, &err)
	}
}
