package projections

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/store"
)

// Beside is an empty partition over the store of another that is empty too, and stays so: neither
// may be cut. It costs no opening, and is not closed.
func Beside(p *Partition) *Partition {
	q := newPartition(p.id)
	q.db, q.fuse = p.db, p.fuse
	return q
}

// pebbleOptions are how Pebble is opened behind a store's back.
func pebbleOptions(dir string, o Options) *pebble.Options {
	return store.PebbleOptions(store.NewFuse(dir, o.store(), func(error) {}), o.store())
}
