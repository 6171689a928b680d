package store

import (
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/giveway"
)

// fusedFile is a file whose writes go through the fuse.
type fusedFile struct {
	vfs.File
	fuse  *Fuse
	table bool      // a table that is written, which can occupy a core for long
	next  time.Time // no pause before
}

// pauseEvery is how long a table is written between two pauses for queries, or more: at least twice
// as long as the last pause.
const pauseEvery = 500 * time.Microsecond

// giveWay pauses for queries, if there are any and a pause is due.
func (f *fusedFile) giveWay() {
	if !f.table || !giveway.Wanted() {
		return
	}
	began := time.Now()
	if began.Before(f.next) {
		return
	}
	giveway.Pause()
	now := time.Now()
	f.next = now.Add(max(pauseEvery, 2*now.Sub(began)))
}

func (f *fusedFile) Write(b []byte) (int, error) {
	rest := b
	f.fuse.do(func() error {
		n, err := f.File.Write(rest)
		rest = rest[n:]
		return err
	})
	f.giveWay()
	return len(b), nil
}

func (f *fusedFile) WriteAt(b []byte, off int64) (int, error) {
	rest := b
	f.fuse.do(func() error {
		n, err := f.File.WriteAt(rest, off)
		rest, off = rest[n:], off+int64(n)
		return err
	})
	return len(b), nil
}

func (f *fusedFile) Sync() error { f.fuse.once(f.File.Sync); return nil }

func (f *fusedFile) SyncData() error { f.fuse.once(f.File.SyncData); return nil }

func (f *fusedFile) SyncTo(length int64) (full bool, err error) {
	f.fuse.once(func() error { full, err = f.File.SyncTo(length); return err })
	return full, nil
}

// Preallocate is a hint, which file systems may refuse.
func (f *fusedFile) Preallocate(offset, length int64) error {
	if f.fuse.err.Load() != nil {
		return nil
	}
	return f.File.Preallocate(offset, length)
}

// Close closes the file even if the fuse is blown, so that no descriptor leaks.
func (f *fusedFile) Close() error {
	if err := f.File.Close(); err != nil {
		f.fuse.Blow(err)
	}
	return nil
}
