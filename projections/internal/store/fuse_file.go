package store

import "github.com/cockroachdb/pebble/v2/vfs"

// fusedFile is a file whose writes go through the fuse.
type fusedFile struct {
	vfs.File
	fuse *Fuse
}

func (f *fusedFile) Write(b []byte) (int, error) {
	rest := b
	f.fuse.do(func() error {
		n, err := f.File.Write(rest)
		rest = rest[n:]
		return err
	})
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
