package store

import (
	"fmt"
	"io"
	"path"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/private"
)

// Stopped is a store that no process uses, locked so that none can open it.
type Stopped struct {
	dir  string
	fs   vfs.FS
	lock io.Closer
}

// OpenStopped locks the store in dir. It fails if a process uses the store. A nil fs means the
// operating system's.
func OpenStopped(dir string, fs vfs.FS) (*Stopped, error) {
	if fs == nil {
		fs = private.FS
	}
	if _, err := fs.Stat(dir); err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	lock, err := fs.Lock(fs.PathJoin(dir, "LOCK"))
	if err != nil {
		return nil, fmt.Errorf("store %s is in use: %w", dir, err)
	}
	return &Stopped{dir, fs, lock}, nil
}

// Checkpoint creates dir, which must not exist, as a copy of the store: hard links to its tables,
// and copies of the files that the store's next owner would write to.
func (s *Stopped) Checkpoint(dir string) error {
	fail := func(err error) error { return fmt.Errorf("checkpoint of store %s in %s: %w", s.dir, dir, err) }
	names, err := s.fs.List(s.dir)
	if err != nil {
		return fail(err)
	}
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	for _, name := range names {
		from, to := s.fs.PathJoin(s.dir, name), s.fs.PathJoin(dir, name)
		switch {
		case name == "LOCK":
			continue
		case path.Ext(name) == ".sst":
			err = s.fs.Link(from, to)
		default:
			err = vfs.Copy(s.fs, from, to)
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := TrimLog(s.fs, dir); err != nil {
		return fail(err)
	}
	return nil
}

// Close releases the lock of the store.
func (s *Stopped) Close() error {
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("store %s: %w", s.dir, err)
	}
	return nil
}
