package store

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/internal/guard"
)

// Checkpoint creates dir, which must not exist, as a copy of the database behind the fuse: hard links
// to its tables, and its log.
func (f *Fuse) Checkpoint(db *pebble.DB, dir string) error {
	return f.try("copying the store", func() error {
		// Without this flush, records that are only in Pebble's log would be copied twice: with the
		// log, and again as a table.
		if err := db.Flush(); err != nil {
			return err
		}
		if err := db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
			return err
		}
		return TrimLog(f.FS, dir)
	})
}

// try does something with the database. A panic blows the fuse, because Pebble may never release its
// locks.
func (f *Fuse) try(what string, do func() error) error {
	err := guard.Err(what, do)
	if guard.Of(err) != nil {
		f.Blow(err)
	}
	return err
}
