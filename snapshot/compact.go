package snapshot

import (
	"context"
	"errors"

	"github.com/tidemark/tidemark/projections"
)

// Compactor is a store that can be prepared for a snapshot.
type Compactor interface {
	// CompactHot compacts hot records, unless a copy of the store has at least half of their bytes; has
	// reports whether the copy has the table of this name and size.
	CompactHot(ctx context.Context, has func(name string, size uint64) bool) (projections.Compacted, error)
}

// CompactHot compacts the hot records of a store whose snapshot would share less than half of them with
// the current one of its partition: the first of a partition, or of a store that was filled again or
// came from another node. Such a snapshot uploads most of them anyway, and later ones upload less for
// it. Call CompactHot before Create. It tells from names and sizes of tables what would be shared, so
// it reads none.
func (r *Repository) CompactHot(ctx context.Context, partition int32, store Compactor) (projections.Compacted, error) {
	e, err := r.entry(ctx, partition, partitionPrefix(partition)+currentName)
	if err != nil && !errors.Is(err, ErrNotExist) {
		return projections.Compacted{}, err
	}
	sizes := map[string]uint64{}
	if e.Manifest != nil { // otherwise there is none, or Create says what is wrong with it
		for i := range e.Manifest.Files {
			sizes[e.Manifest.Files[i].Name] = uint64(e.Manifest.Files[i].Size)
		}
	}
	return store.CompactHot(ctx, func(name string, size uint64) bool {
		known, ok := sizes[name]
		return ok && known == size
	})
}
