// Package private makes files and directories that only their owner may read, whatever the umask,
// because stores and snapshots show who talks to whom, and what they write.
package private

import (
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Modes of new files and directories.
const (
	DirMode  os.FileMode = 0o700
	FileMode os.FileMode = 0o600
)

// FS is the file system of the machine; everything that it makes is private.
var FS vfs.FS = owned{vfs.Default}

// MkdirAll makes a directory and the missing ones above it. It tightens an existing one, so that
// only its owner can read the files in it, whatever their modes. A directory of another owner is no
// error, as long as it can be used.
func MkdirAll(dir string) error {
	if err := os.MkdirAll(dir, DirMode); err != nil {
		return err
	}
	Tighten(dir)
	return nil
}

// Tighten removes the rights of everybody but the owner from a directory. It fails silently if this
// process does not own the directory.
func Tighten(dir string) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() && info.Mode().Perm()&^DirMode != 0 {
		_ = os.Chmod(dir, info.Mode().Perm()&DirMode) // its owner may be another user
	}
}

// owned is a file system of the machine.
type owned struct{ vfs.FS }

// keep makes a new file private.
func keep(f vfs.File, name string, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, FileMode); err != nil {
		_ = f.Close() // it is useless
		return nil, err
	}
	return f, nil
}

// Create implements vfs.FS.
func (o owned) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.Create(name, c)
	return keep(f, name, err)
}

// OpenReadWrite implements vfs.FS.
func (o owned) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := o.FS.OpenReadWrite(name, c, opts...)
	return keep(f, name, err)
}

// ReuseForWrite implements vfs.FS.
func (o owned) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := o.FS.ReuseForWrite(oldname, newname, c)
	return keep(f, newname, err)
}

// Lock implements vfs.FS.
func (o owned) Lock(name string) (io.Closer, error) {
	c, err := o.FS.Lock(name)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(name, FileMode); err != nil {
		_ = c.Close() // it is useless
		return nil, err
	}
	return c, nil
}

// MkdirAll implements vfs.FS.
func (o owned) MkdirAll(dir string, _ os.FileMode) error { return MkdirAll(dir) }

// Unwrap implements vfs.FS.
func (o owned) Unwrap() vfs.FS { return o.FS }
