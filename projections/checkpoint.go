package projections

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/internal/guard"
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
	err := guard.Err("copying the store", func() error {
		// Without this flush, records that are only in Pebble's log would be copied twice: with the
		// log, and again as a table.
		if err := p.db.Flush(); err != nil {
			return err
		}
		if err := p.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
			return err
		}
		return store.TrimLog(p.fuse.FS, dir)
	})
	if guard.Of(err) != nil {
		p.fuse.Blow(err) // Pebble may never release its locks
	}
	if err != nil {
		return fmt.Errorf("checkpoint of partition %d in %s: %w", p.id.Partition, dir, err)
	}
	return p.rules.Err()
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
