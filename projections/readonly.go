package projections

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenReadOnly opens the store in dir to look at it, whatever it belongs to, and changes nothing in the directory. What it
// returns answers every question, and must neither fold nor cut. Like Inspect it needs the directory to itself: that of a
// running node is refused, and one that nothing was written to yet is ErrEmpty. Only the hot records are checked against
// their digest; Inspect goes through all. fs nil is the operating system's.
func OpenReadOnly(dir string, fs vfs.FS) (*Partition, error) {
	p := newPartition(Identity{})
	f := newFuse(dir, Options{FS: fs}, p.corrupt)
	o := fusedOptions(f, Options{FS: fs})
	o.Cache = pebble.NewCache(16<<20 + 2*int64(o.MemTableSize))
	defer o.Cache.Unref()
	db, tables, err := openReadOnly(dir, o)
	if err != nil {
		return nil, err
	}
	if err := whole(db, func() error {
		x, err := inspect(dir, db, tables, false)
		if err != nil {
			return err
		}
		p.id, p.settings, p.db, p.room = x.Identity, x.Identity.Settings, db, &f.room
		return p.load(dir, tables)
	}); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return p, nil
}

// Users are the ids of everybody who belongs to a channel, belonged to it, or did anything in it, in order; none for a
// channel that View does not know. It needs RLock.
func (p *Partition) Users(channelID string) []string {
	if _, _, ok := p.known(channelID); !ok {
		return nil
	}
	return usersOf(channelID, p)
}
