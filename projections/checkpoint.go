package projections

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Checkpoint makes dir, which must not exist, a copy of the store as of the last applied cut: hard
// links to its tables, so it takes no room and hardly any time, and is on the same file system. The
// copy is a store like any other. It may be called while the fold goes on, by any goroutine, but
// not while Close is.
func (p *Partition) Checkpoint(dir string) error {
	if err := p.rules.Err(); err != nil {
		return err
	}
	err := guard.Err("copying the store", func() error {
		// What is in the log only would be copied with the log and then again as a table.
		if err := p.db.Flush(); err != nil {
			return err
		}
		return p.db.Checkpoint(dir, pebble.WithFlushedWAL())
	})
	if guard.Of(err) != nil {
		p.fuse.Blow(err) // Pebble may hold its locks for good
	}
	if err != nil {
		return fmt.Errorf("checkpoint of partition %d in %s: %w", p.id.Partition, dir, err)
	}
	return p.rules.Err()
}

// Excerpt makes dir, which must not exist, a store of some channels alone, as of the last applied
// cut: without receipts, and without those of more than most bytes, which it returns. Any goroutine
// may call it, without a lock, while the fold goes on.
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
