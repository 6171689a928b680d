package projections

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// OpenReadOnly opens the store in dir to look at it, whatever it belongs to, and changes nothing in the directory. What it
// returns answers every question, and must neither fold nor cut. Like Inspect it needs the directory to itself: that of a
// running node is refused, and one that nothing was written to yet is ErrEmpty. Only the hot records are checked against
// their digest; Inspect goes through all. fs nil is the operating system's.
func OpenReadOnly(dir string, fs vfs.FS) (*Partition, error) {
	x, err := InspectHeader(dir, fs)
	if err != nil {
		return nil, err
	}
	if fs == nil {
		fs = vfs.Default
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	tables := slices.ContainsFunc(names, func(name string) bool { return path.Ext(name) == ".sst" })
	p := newPartition(x.Identity)
	f := newFuse(dir, Options{FS: fs}, p.corrupt)
	po := fusedOptions(f, Options{FS: fs})
	po.ReadOnly, po.ErrorIfNotExists = true, true
	po.Cache = pebble.NewCache(16<<20 + 2*int64(po.MemTableSize))
	defer po.Cache.Unref()
	db, err := pebble.Open(dir, po)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	p.db, p.room = db, &f.room
	if err := p.load(dir, tables); err != nil {
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
