package projections

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Options are the resources of a store. The zero value works.
type Options struct {
	FS     vfs.FS        // nil: the operating system's
	Cache  *pebble.Cache // shared by the stores of a process; nil: 16 MiB of its own
	Logger pebble.Logger // nil: silent. Fatalf is never called: an error that is fatal to Pebble ends as Partition.Err
	// MemTableSize is Pebble's, in bytes; 0 = 16 MiB. A block cache must be larger than twice this
	// for each store that shares it, because Pebble allocates memtables from the cache.
	MemTableSize uint64
	// Full is called when a write finds the disk full, and again each time that the retry finds it
	// full. Full returns true to try the write again, or false to give up; then the store fails.
	// Any writing goroutine calls it, several at once, and Open too. Locks of the store may be
	// held, so Full must not call the Partition. Meanwhile memory and disk stay consistent, and
	// reads go on. If Full is nil, a full disk is a failure like any other.
	Full func(err error) (retry bool)
	// OnHold is called after the partition's Lock or RLock was taken, with the cause; the function
	// that it returns is called before the lock is released. Many goroutines call it at once. It
	// serves benches; nil turns it off.
	OnHold func(cause string) (done func())
	// Memory returns how many bytes the partition should use. When it uses more, channels leave
	// memory that no event has named for some time, and come back with the next event or query that
	// names them (DESIGN §5, Hot and cold). The limit is soft: changes since the last cut, and
	// channels that wait for something, cannot leave. Memory is called often, by the goroutine that
	// folds. nil, or a result of 0, means no limit.
	Memory func() int64
	// ListLater lets Open return before it has listed which channels are in the store only, if they do
	// not fit into memory. Events and queries of channels are served meanwhile. The goroutine that
	// folds calls List until it returns false; until then the partition is not Listed.
	ListLater bool
	// ThreadsAlways lists followed threads forever instead of for 30 days (DESIGN §4.7).
	ThreadsAlways bool

	// planted is called at named places; tests panic in it. nil turns it off.
	planted func(where string)
}

// store returns the options that concern only the store.
func (o Options) store() store.Options {
	return store.Options{FS: o.FS, Cache: o.Cache, Logger: o.Logger, MemTableSize: o.MemTableSize, Full: o.Full}
}

// Open opens the store in dir, or creates one, and loads its hot state. It refuses a store that
// belongs to something else with a *MismatchError. It never takes an unreadable store for an empty
// one.
func Open(dir string, id Identity, o Options) (*Partition, error) {
	p := newPartition(id)
	p.planted, p.onHold, p.ThreadsAlways, p.memory, p.listLater = o.planted, o.OnHold, o.ThreadsAlways, o.Memory, o.ListLater
	f := store.NewFuse(dir, o.store(), p.rules.Fail)
	po := store.PebbleOptions(f, o.store())
	if o.Cache == nil {
		po.Cache = pebble.NewCache(16<<20 + 2*int64(po.MemTableSize))
		defer po.Cache.Unref()
	}
	tables, err := store.Survey(f, dir)
	if err != nil {
		return nil, err
	}
	f.Hold()
	p.fuse = f
	var db *pebble.DB
	err = guard.Err("the opening of its store", func() (err error) {
		db, err = pebble.Open(dir, po)
		return err
	})
	switch {
	case guard.Of(err) != nil:
		f.Blow(err)
		_ = f.Unlock()
		return nil, err
	case f.Broken() != nil: // Pebble's later errors are consequences of this one
		err = f.Broken()
	case err != nil && store.IsCorruption(err):
		err = &CorruptError{Dir: dir, Err: err}
	case store.IsLocked(err):
		err = fmt.Errorf("store %s: in use by another process: give each node a data directory of its own, or end the other (%w)", dir, err)
	case err != nil:
		err = fmt.Errorf("store %s: %w", dir, err)
	default:
		p.db, p.records = db, db
		if err = f.Whole(db, func() error { return p.load(dir, tables) }); err != nil {
			return nil, err
		}
		var empty *identity.Header
		if p.cuts == 0 {
			h := p.header(keys.Digest{})
			empty = &h
		}
		p.writer = store.NewWriter(db, dir, po, empty)
		f.Release()
		return p, nil
	}
	f.Blow(err) // the disk must stay as it is
	if db != nil {
		_ = db.Close()
	}
	return nil, err
}

// Close closes the store. It does not write state that was not cut and applied; that state will be
// folded again. Close waits for answers in progress, which soon end with ErrClosing. If other
// goroutines may send queries, the caller holds Lock. Close may return an earlier error that Err
// already had.
func (p *Partition) Close() error {
	p.stored.Closing.Store(true)
	p.stored.Open.Wait()
	var err error
	if failed := p.rules.Err(); guard.Of(failed) == nil {
		err = guard.Err("closing the store", func() error { return errors.Join(p.stopListing(), p.db.Close()) })
	}
	if bug := cmp.Or(p.rules.Err(), err); guard.Of(bug) != nil {
		p.fuse.Abandon(p.db, bug)
	}
	if failed := p.rules.Err(); failed != nil {
		err = failed // Pebble's later errors are consequences of this one
	}
	if err != nil {
		return fmt.Errorf("closing the store of partition %d: %w", p.id.Partition, err)
	}
	return nil
}

func (p *Partition) load(dir string, tables bool) error {
	v, closer, err := p.db.Get([]byte{keys.Header})
	if errors.Is(err, pebble.ErrNotFound) {
		return p.loadEmpty(dir, tables)
	}
	if err != nil {
		return fmt.Errorf("store %s: reading its header: %w", dir, err)
	}
	var got identity.Header
	err = got.Decode(v)
	if cerr := closer.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return &CorruptError{Dir: dir, Err: fmt.Errorf("its header is corrupt (%w)", err)}
	}
	want := identity.Header{Format: FormatVersion, Fold: FoldVersion, Identity: p.id}
	if err := identity.Check(dir, &got, &want); err != nil {
		return err
	}
	p.rules.Positions, p.applied, p.rules.Written.Digest = got.Position, got.Position, got.Digest
	p.rules.MessageTime, p.rules.ReadTime, p.rules.DeliveryTime = got.Times[events.Messages], got.Times[events.Reads], got.Times[events.Deliveries]
	// A panic while reading records means that the store's contents are wrong: the checks below
	// exist to find that.
	var hot [16]byte
	err = guard.Err("reading its records", func() (err error) {
		if p.cuts, hot, err = store.LoadChain(p.db, got.Position == Position{}); err != nil {
			return err
		}
		return p.loadHot()
	})
	if sum := p.rules.Written.Hot.Bytes(); err == nil && sum != hot {
		err = fmt.Errorf("a record that is read at the start is missing or changed: their digest is %x, the last cut says %x", sum, hot)
	}
	if err != nil {
		_ = p.stopListing() // it has an iterator, and the store will be closed
	}
	if store.IsIO(err) {
		return fmt.Errorf("store %s: %w", dir, err)
	}
	if err != nil {
		return &CorruptError{Dir: dir, Err: err}
	}
	return nil
}

// loadEmpty accepts a store without a header only if it has no records, and had no tables before
// Pebble opened it.
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
		return &CorruptError{Dir: dir, Err: errors.New("has records but no header")}
	case tables:
		return &CorruptError{Dir: dir, Err: errors.New("has tables, but its manifest is damaged or missing and lists none")}
	}
	return nil
}

// Dump calls fn for every record except the header and the chain of cuts, in key order, as Pebble
// has them: only cut and applied state. The bytes are valid during the call. Use Dump to compare
// two stores record by record.
func (p *Partition) Dump(fn func(key, value []byte) error) error {
	it, err := p.db.NewIter(nil)
	if err != nil {
		return err
	}
	for it.First(); it.Valid() && err == nil; it.Next() {
		if k := it.Key()[0]; k != keys.Header && k != keys.Cut {
			err = fn(it.Key(), it.Value())
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}
