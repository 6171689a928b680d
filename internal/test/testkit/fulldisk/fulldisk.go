// Package fulldisk is a file system that a test can make full.
package fulldisk

import (
	"io"
	"os"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a file system in which any operation that needs space can fail for lack of it.
type FS struct {
	vfs.FS
	full func(name string) bool
	Err  error // the error of operations without space; ENOSPC unless a test changes it
}

// New wraps fs. It calls full with the name of the file before each operation that needs space,
// possibly from several goroutines at once. If full returns true the operation fails; a write fails
// after half of its bytes.
func New(fs vfs.FS, full func(name string) bool) *FS {
	return &FS{FS: fs, full: full, Err: syscall.ENOSPC}
}

// Unwrap implements vfs.FS.
func (d *FS) Unwrap() vfs.FS { return d.FS }

// noSpace returns the error of an operation on a name, nil if there is space.
func (d *FS) noSpace(op, name string) error {
	if d.full(name) {
		return &os.PathError{Op: op, Path: name, Err: d.Err}
	}
	return nil
}

func (d *FS) open(op, name string, open func() (vfs.File, error)) (vfs.File, error) {
	if err := d.noSpace(op, name); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return &file{f, d, name}, nil
}

// Create implements vfs.FS.
func (d *FS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("create", name, func() (vfs.File, error) { return d.FS.Create(name, c) })
}

// OpenReadWrite implements vfs.FS.
func (d *FS) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.open("open", name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements vfs.FS.
func (d *FS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.open("reuse", newname, func() (vfs.File, error) { return d.FS.ReuseForWrite(oldname, newname, c) })
}

// Lock implements vfs.FS.
func (d *FS) Lock(name string) (io.Closer, error) {
	if err := d.noSpace("lock", name); err != nil {
		return nil, err
	}
	return d.FS.Lock(name)
}

// Link implements vfs.FS.
func (d *FS) Link(oldname, newname string) error {
	if err := d.noSpace("link", newname); err != nil {
		return err
	}
	return d.FS.Link(oldname, newname)
}

// Rename implements vfs.FS.
func (d *FS) Rename(oldname, newname string) error {
	if err := d.noSpace("rename", newname); err != nil {
		return err
	}
	return d.FS.Rename(oldname, newname)
}

// MkdirAll implements vfs.FS.
func (d *FS) MkdirAll(dir string, perm os.FileMode) error {
	if err := d.noSpace("mkdir", dir); err != nil {
		return err
	}
	return d.FS.MkdirAll(dir, perm)
}

type file struct {
	vfs.File
	disk *FS
	name string
}

func (f *file) Write(b []byte) (int, error) {
	if err := f.disk.noSpace("write", f.name); err != nil {
		n, failed := f.File.Write(b[:len(b)/2])
		if failed != nil {
			err = failed
		}
		return n, err
	}
	return f.File.Write(b)
}

func (f *file) WriteAt(b []byte, off int64) (int, error) {
	if err := f.disk.noSpace("write", f.name); err != nil {
		n, failed := f.File.WriteAt(b[:len(b)/2], off)
		if failed != nil {
			err = failed
		}
		return n, err
	}
	return f.File.WriteAt(b, off)
}
