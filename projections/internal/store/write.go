package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Writer writes batches into a store, whole or not at all.
//
// A small batch goes into Pebble's log and memtable. Of a large one, Writer makes tables, and Pebble
// adds them as they are, usually to level 0. So its bytes are written once and compressed, instead of
// once into the log and once more when the memtable is flushed. Beside the batch this takes about 30
// bytes of memory for each of its changes.
type Writer struct {
	db      *pebble.DB
	fs      vfs.FS
	dir     string
	options sstable.WriterOptions
	empty   *identity.Header // of a store without a batch; nil once the disk has a batch or a header, see Survey

	Large int // a batch of more bytes is large
}

const (
	// tableBytes is the size from which on a large batch continues in another table, so that a
	// compaction need not take up all of it.
	tableBytes = 4 << 20
	// crowded is the number of sublevels of level 0 from which on Writer makes no tables. Compactions
	// are behind then, and Pebble will stop what goes through its log.
	crowded = 24
	// temporary is the suffix of tables that Pebble has not added yet.
	temporary = ".dbtmp"
)

// NewWriter returns a writer for a database that was opened with o. empty is the header of a store
// that had no batch then, nil for any other. More than half a memtable is large.
func NewWriter(db *pebble.DB, dir string, o *pebble.Options, empty *identity.Header) *Writer {
	defaults := *o
	defaults.EnsureDefaults()
	return &Writer{db: db, fs: o.FS, dir: dir, options: defaults.MakeWriterOptions(0, db.TableFormat()), empty: empty, Large: int(o.MemTableSize / 2)}
}

// Write writes a batch, which it does not change. It waits for the disk if the batch is large, or the
// first of the store.
func (w *Writer) Write(batch *pebble.Batch) error {
	switch {
	case batch.Len() > w.Large && w.db.Metrics().Levels[0].Sublevels < crowded:
		if w.empty != nil { // no table before there is state
			if err := w.db.Set([]byte{keys.Header}, w.empty.Append(nil), pebble.Sync); err != nil {
				return err
			}
			w.empty = nil
		}
		paths, err := w.tables(batch)
		if err != nil {
			return err
		}
		return w.db.Ingest(context.Background(), paths)
	case w.empty != nil:
		w.empty = nil
		return batch.Commit(pebble.Sync)
	}
	return batch.Commit(pebble.NoSync)
}

// tables writes the changes of a batch into tables, in the order of their keys. Of several changes
// of one key it writes the last.
func (w *Writer) tables(batch *pebble.Batch) (paths []string, err error) {
	var to *sstable.Writer
	defer func() {
		if to != nil {
			err = errors.Join(err, to.Close())
		}
	}()
	for c, err := range changes(batch) {
		if err != nil {
			return nil, err
		}
		if to != nil && to.Raw().EstimatedSize() >= tableBytes {
			err, to = to.Close(), nil
			if err != nil {
				return nil, err
			}
		}
		if to == nil {
			// Pebble removes files of such names when it opens a store.
			path := w.fs.PathJoin(w.dir, fmt.Sprintf("temporary.%06d"+temporary, len(paths)+1))
			file, err := w.fs.Create(path, vfs.WriteCategoryUnspecified)
			if err != nil {
				return nil, err
			}
			paths, to = append(paths, path), sstable.NewWriter(objstorageprovider.NewFileWritable(file), w.options)
		}
		if err := c.write(to); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
