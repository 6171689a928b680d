package projections

import (
	"fmt"
	"io"
	"path"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint makes dir, which must not exist, a copy of the store as of the last applied cut: hard links to its tables,
// so it takes no room and hardly any time, and is on the same file system. The copy is a store like any other. It may be
// called while the fold goes on, by any goroutine, but not while Close is.
func (p *Partition) Checkpoint(dir string) error {
	if err := p.Err(); err != nil {
		return err
	}
	// What is in the log only would be copied with the log and then again as a table.
	if err := p.db.Flush(); err != nil {
		return fmt.Errorf("checkpoint of partition %d: %w", p.id.Partition, err)
	}
	if err := p.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		return fmt.Errorf("checkpoint of partition %d in %s: %w", p.id.Partition, dir, err)
	}
	return p.Err()
}

// Stopped is a store that no process uses, held so that none begins to.
type Stopped struct {
	dir  string
	fs   vfs.FS
	lock io.Closer
}

// OpenStopped takes hold of the store in dir. It fails if a process uses it. fs nil is the operating system's.
func OpenStopped(dir string, fs vfs.FS) (*Stopped, error) {
	if fs == nil {
		fs = vfs.Default
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

// Checkpoint makes dir, which must not exist, a copy of the store: hard links to its tables, and copies of what its next
// owner would write to.
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
	return nil
}

// Close lets go of the store.
func (s *Stopped) Close() error {
	if err := s.lock.Close(); err != nil {
		return fmt.Errorf("store %s: %w", s.dir, err)
	}
	return nil
}

// CheckIdentity compares what a store or snapshot at where was written by and belongs to with what it is wanted for; a
// *MismatchError says what differs, as Open does.
func CheckIdentity(where string, format, fold uint64, got, want Identity) error {
	g, w := header{format: format, fold: fold, id: got}, header{format: FormatVersion, fold: FoldVersion, id: want}
	return check(where, &g, &w)
}
