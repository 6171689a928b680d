package projections

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/store"
)

// OpenReadOnly opens the store in dir for reading, whatever it belongs to, and changes nothing in
// the directory. The returned Partition answers every question, and must neither fold nor cut. Like
// Inspect, OpenReadOnly needs exclusive use of the directory and refuses the store of a running
// node; it returns ErrEmpty for a store that was never written to. It checks only the hot records
// against their digest; Inspect checks all. A nil fs means the operating system's.
func OpenReadOnly(dir string, fs vfs.FS) (*Partition, error) {
	p := newPartition(Identity{})
	f := store.NewFuse(dir, store.Options{FS: fs}, p.rules.Fail)
	o := store.PebbleOptions(f, store.Options{FS: fs})
	o.Cache = pebble.NewCache(16<<20 + 2*int64(o.MemTableSize))
	defer o.Cache.Unref()
	db, tables, err := store.OpenReadOnly(dir, o)
	if err != nil {
		return nil, err
	}
	if err := f.Whole(db, func() error {
		x, err := inspect(dir, db, tables, false)
		if err != nil {
			return err
		}
		p.id, p.rules.Settings, p.db, p.records, p.fuse = x.Identity, x.Identity.Settings, db, db, f
		return p.load(dir, tables)
	}); err != nil {
		return nil, err
	}
	return p, nil
}

// Users returns the ids of all members and former members of a channel, and of everybody who did
// anything in it, in order. For a channel that View does not find it returns none. The caller holds
// RLock.
func (p *Partition) Users(channelID string) []string {
	if _, _, ok := p.rules.KnownChannel(channelID); !ok {
		return nil
	}
	return usersOf(channelID, p)
}
