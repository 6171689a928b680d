package store

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options are the resources of a store. The zero value works.
type Options struct {
	FS           vfs.FS                       // nil: the operating system's
	Cache        *pebble.Cache                // shared by the stores of a process
	Logger       pebble.Logger                // nil: silent
	MemTableSize uint64                       // in bytes; 0 = 16 MiB
	Full         func(err error) (retry bool) // called when the disk is full; nil: a full disk is a failure like any other
}

// PebbleOptions returns the options for a database behind a fuse.
func PebbleOptions(f *Fuse, o Options) *pebble.Options {
	po := &pebble.Options{
		FS: f, Cache: o.Cache, Logger: f, EventListener: f.listener(),
		FormatMajorVersion: pebble.FormatNewest,
		MemTableSize:       o.MemTableSize,
		// Compactions of level 0 begin at half as many sublevels. Each of them rewrites the level below,
		// which often has most of the store: more sublevels cost fewer bytes, for the disk and for
		// snapshots, and a read of a cold channel has to look into each of them.
		L0CompactionThreshold: 24,
		L0StopWritesThreshold: 32,
		LBaseMaxBytes:         64 << 20,
		MaxOpenFiles:          1000,
	}
	// A table that waits behind a memtable would be named in Pebble's log before a copy of the store
	// finds it, and an error at that moment would let a flush wait for ever. Pebble flushes the memtable
	// first instead.
	po.Experimental.DisableIngestAsFlushable = func() bool { return true }
	if po.MemTableSize == 0 {
		po.MemTableSize = 16 << 20
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		// A cold channel has a few hundred bytes, and reading it decompresses a whole block. Smaller
		// blocks make compactions dearer. Only the lowest level, where most cold channels are read, has
		// blocks of 4 KiB.
		po.Levels[i].BlockSize = 8 << 10
		po.Levels[i].IndexBlockSize = 16 << 10
	}
	po.Levels[len(po.Levels)-1].BlockSize = 4 << 10
	return po
}

// Survey examines a directory before Pebble opens it, and reports whether it has tables. A directory
// with tables has state: Pebble syncs the log that it makes a table from before it writes the table,
// and Writer makes none before a batch or a header is synced.
//
// A directory without tables, logs and manifest is the result of a crash while the store was
// created: the marker that names the manifest reached the disk, but the manifest did not. Nothing
// was ever folded there, so Survey removes the marker; otherwise Pebble would refuse the directory
// forever.
func Survey(fs vfs.FS, dir string) (tables bool, err error) {
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("store %s: %w", dir, err)
	}
	var markers []string
	state := false
	for _, name := range names {
		switch {
		case path.Ext(name) == ".sst":
			tables = true
		case path.Ext(name) == ".log", strings.HasPrefix(name, "MANIFEST-"):
			state = true
		case strings.HasPrefix(name, "marker."):
			markers = append(markers, name)
		}
	}
	if tables || state {
		return tables, nil
	}
	for _, name := range markers {
		if err := fs.Remove(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("store %s: %w", dir, err)
		}
	}
	return false, nil
}

// OpenReadOnly opens the database in dir without changing anything. tables reports whether the
// directory has tables.
func OpenReadOnly(dir string, o *pebble.Options) (db *pebble.DB, tables bool, err error) {
	names, err := o.FS.List(dir)
	if err == nil {
		tables = slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".sst" })
		o.ReadOnly, o.ErrorIfNotExists = true, true
		if db, err = pebble.Open(dir, o); err != nil && IsCorruption(err) {
			return nil, false, &CorruptError{dir, err}
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("store %s: %w", dir, err)
	}
	return db, tables, nil
}
