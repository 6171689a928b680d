package projections

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/store"
)

// OpenReadOnly opens the store in dir to look at it, whatever it belongs to, and changes nothing in
// the directory. What it returns answers every question, and must neither fold nor cut. Like
// Inspect it needs the directory to itself: that of a running node is refused, and one that nothing
// was written to yet is ErrEmpty. Only the hot records are checked against their digest; Inspect
// goes through all. fs nil is the operating system's.
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
		p.id, p.rules.Settings, p.db, p.fuse = x.Identity, x.Identity.Settings, db, f
		return p.load(dir, tables)
	}); err != nil {
		return nil, err
	}
	return p, nil
}

// Users are the ids of everybody who belongs to a channel, belonged to it, or did anything in it,
// in order; none for a channel that View does not know. It needs RLock.
func (p *Partition) Users(channelID string) []string {
	if _, _, ok := p.rules.KnownChannel(channelID); !ok {
		return nil
	}
	return usersOf(channelID, p)
}
