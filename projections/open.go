package projections

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
)

// Options are the means a store is given. The zero value works.
type Options struct {
	FS     vfs.FS        // nil: the operating system's
	Cache  *pebble.Cache // shared by the stores of a process; nil: 16 MiB of its own
	Logger pebble.Logger // nil: silent; Fatalf is never called: what is fatal to Pebble ends as Partition.Err
	// MemTableSize is Pebble's, in bytes; 0 = 16 MiB. A block cache must be larger than twice this for each store
	// that shares it, for Pebble takes its memtables out of the cache.
	MemTableSize uint64
	// Full is called when a write finds the disk full, and again whenever it finds so after that. It returns when the
	// write is to be tried again, or false if there is no use in waiting: then the store fails. It is called from
	// whichever goroutine writes, of several at once, and in Open; locks of the store may be held, so that it must not
	// call the Partition. What is in memory and on disk stays right meanwhile, and reads go on. nil: a full disk is a
	// failure like any other.
	Full func(err error) (again bool)
}

// pebbleOptions are how Pebble is opened where nobody waits for what its background says.
func pebbleOptions(dir string, o Options) *pebble.Options {
	return fusedOptions(newFuse(dir, o, func(error) {}), o)
}

func fusedOptions(f *fuse, o Options) *pebble.Options {
	po := &pebble.Options{
		FS: f, Cache: o.Cache, Logger: f, EventListener: f.listener(),
		FormatMajorVersion:    pebble.FormatNewest,
		MemTableSize:          o.MemTableSize,
		L0CompactionThreshold: 4,
		LBaseMaxBytes:         64 << 20,
		MaxOpenFiles:          1000,
	}
	if po.MemTableSize == 0 {
		po.MemTableSize = 16 << 20
	}
	for i := range po.Levels {
		po.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		po.Levels[i].BlockSize = 16 << 10
	}
	return po
}

// Open opens the store in dir, or makes one, and loads its hot state. A store that belongs to something else is
// refused with a *MismatchError; one that cannot be read is never taken for an empty one.
func Open(dir string, id Identity, o Options) (*Partition, error) {
	p := newPartition(id)
	f := newFuse(dir, o, p.corrupt)
	po := fusedOptions(f, o)
	if o.Cache == nil {
		po.Cache = pebble.NewCache(16<<20 + 2*int64(po.MemTableSize))
		defer po.Cache.Unref()
	}
	tables, err := survey(f, dir)
	if err != nil {
		return nil, err
	}
	f.hold()
	p.room = &f.room
	db, err := pebble.Open(dir, po)
	switch {
	case f.broken() != nil: // what Pebble says after that are consequences
		err = f.broken()
	case err != nil && isCorruption(err):
		err = &CorruptError{dir, err}
	case isLocked(err):
		err = fmt.Errorf("store %s: in use by another process: give each node a data directory of its own, or end the other (%w)", dir, err)
	case err != nil:
		err = fmt.Errorf("store %s: %w", dir, err)
	default:
		p.db = db
		err = whole(db, func() error { return p.load(dir, tables) })
	}
	if err != nil {
		f.blow(err) // so that what is on disk stays as it is
		if db != nil {
			_ = db.Close()
		}
		return nil, err
	}
	f.release()
	return p, nil
}

// survey looks at a directory before Pebble does. It reports whether there are tables: before its first is written, the
// log that it is made from was synced, so where there is one, there is state.
//
// Where there is neither table, log nor manifest, a crash came while the store was made: the marker that names the
// manifest reached the disk and the manifest's name did not. Nothing was ever folded there, so the marker is removed;
// Pebble would refuse it for ever.
func survey(fs vfs.FS, dir string) (tables bool, err error) {
	names, err := fs.List(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("store %s: %w", dir, err)
	}
	var markers []string
	state := false
	for _, name := range names {
		switch {
		case path.Ext(name) == ".sst":
			tables = true
		case path.Ext(name) == ".log", strings.HasPrefix(name, "MANIFEST-"):
			state = true
		case strings.HasPrefix(name, "marker."):
			markers = append(markers, name)
		}
	}
	if tables || state {
		return tables, nil
	}
	for _, name := range markers {
		if err := fs.Remove(fs.PathJoin(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, fmt.Errorf("store %s: %w", dir, err)
		}
	}
	return false, nil
}

// Close closes the store. What was not cut and applied is not written: it will be folded again. Answers that were begun
// and not finished end soon, with ErrClosing, and are waited for. Where others may ask, Lock is held. The error may be one of
// before, which nobody has asked Err for.
func (p *Partition) Close() error {
	p.closing.Store(true)
	p.moments.Wait()
	err := p.db.Close()
	if failed := p.Err(); failed != nil {
		err = failed // what Pebble says after that are consequences
	}
	if err != nil {
		return fmt.Errorf("closing the store of partition %d: %w", p.id.Partition, err)
	}
	return nil
}

func (p *Partition) load(dir string, tables bool) error {
	v, closer, err := p.db.Get([]byte{keyHeader})
	if errors.Is(err, pebble.ErrNotFound) {
		return p.loadEmpty(dir, tables)
	}
	if err != nil {
		return fmt.Errorf("store %s: reading its header: %w", dir, err)
	}
	var got header
	err = got.decode(v)
	if cerr := closer.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &CorruptError{dir, fmt.Errorf("its header is corrupt (%w)", err)}
	}
	want := header{format: FormatVersion, fold: FoldVersion, id: p.id}
	if err := check(dir, &got, &want); err != nil {
		return err
	}
	p.pos, p.stored, p.digest = got.pos, got.pos, got.digest
	p.logTime, p.readTime, p.deliveryTime = got.times[events.Messages], got.times[events.Reads], got.times[events.Deliveries]
	hot, err := p.loadChain()
	if err == nil {
		err = p.loadHot()
	}
	if sum := p.hot.bytes(); err == nil && sum != hot {
		err = fmt.Errorf("a record that is read at the start is missing or changed: their digest is %x, the last cut says %x", sum, hot)
	}
	if isIO(err) {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	if err != nil {
		return &CorruptError{dir, err}
	}
	return nil
}

// loadEmpty accepts a store without a header only if it has nothing else either, and had nothing before Pebble opened it.
func (p *Partition) loadEmpty(dir string, tables bool) error {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	any := it.First()
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	switch {
	case any:
		return &CorruptError{dir, errors.New("has records but no header")}
	case tables:
		return &CorruptError{dir, errors.New("has tables, but its manifest is damaged or missing and knows of none")}
	}
	return nil
}

// Dump calls fn for every record but the header and the chain of cuts, in key order, as Pebble has them: only what was cut and applied. The
// bytes are valid during the call. Use it to compare two stores record by record.
func (p *Partition) Dump(fn func(key, value []byte) error) error {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		if k := it.Key()[0]; k != keyHeader && k != keyCut {
			err = fn(it.Key(), it.Value())
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}
