package projections

import (
	"context"
	"fmt"

	"github.com/tidemark/tidemark/projections/internal/store"
)

// Checkpoint creates dir, which must not exist, as a copy of the store at the last applied cut. The
// copy consists of hard links to the store's tables: it takes almost no space and time, and dir
// must be on the same file system. The copy is a complete store. Any goroutine may call Checkpoint
// while the fold goes on, but not at the same time as Close.
func (p *Partition) Checkpoint(dir string) error {
	if err := p.rules.Err(); err != nil {
		return err
	}
	if err := p.fuse.Checkpoint(p.db, dir); err != nil {
		return fmt.Errorf("checkpoint of partition %d in %s: %w", p.id.Partition, dir, err)
	}
	return p.rules.Err()
}

// Compacted says what CompactHot did.
type Compacted = store.Compacted

// CompactHot compacts the records that Open loads, unless a copy of the store has at least half of their
// bytes; has reports whether it has the table of this name and size. Later copies then share more
// tables with the next one. If busy returns a reason, CompactHot compacts nothing. Any goroutine may call
// CompactHot without a lock while the fold goes on, but not at the same time as Close.
func (p *Partition) CompactHot(ctx context.Context, has func(name string, size uint64) bool, busy func() (why string)) (s Compacted, err error) {
	if s, err = p.fuse.CompactHot(ctx, p.db, has, busy); err != nil {
		return s, fmt.Errorf("compacting the store of partition %d: %w", p.id.Partition, err)
	}
	return s, p.rules.Err()
}

// Excerpt creates dir, which must not exist, as a store of the given channels as of the last
// applied cut. It leaves out receipts, and channels whose records exceed most bytes; large lists
// those. Any goroutine may call Excerpt without a lock while the fold goes on.
func (p *Partition) Excerpt(dir string, channels []string, most int64) (at Position, large []string, err error) {
	p.RLock()
	if p.stored.Closing.Load() {
		p.RUnlock()
		return at, nil, ErrClosing
	}
	p.stored.Open.Add(1)
	p.RUnlock()
	defer p.stored.Open.Done()
	return store.Excerpt(p.db, p.fuse.FS, dir, channels, most, p.stored.Stop)
}
