package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/store"
)

// Beside returns an empty partition over the store of another empty one. Neither may be cut. It
// needs no opening, and you must not close it.
func Beside(p *Partition) *Partition {
	q := newPartition(p.id)
	q.db, q.records, q.fuse = p.db, p.db, p.fuse
	return q
}

// pebbleOptions returns the options with which a test opens a store's Pebble directly.
func pebbleOptions(dir string, o Options) *pebble.Options {
	return store.PebbleOptions(store.NewFuse(dir, o.store(), func(error) {}), o.store())
}

// CutIntoTables lets every cut become tables.
func (p *Partition) CutIntoTables() { p.writer.Large = 0 }
