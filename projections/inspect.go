package projections

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/state"
	"github.com/tidemark/tidemark/projections/internal/store"
)

// Inspection describes a store, as its own records state it.
type Inspection struct {
	Identity Identity
	Format   uint64
	Fold     uint64
	Position Position
	Digest   [16]byte
	// LogTimes are the log times of the three inputs in Unix milliseconds, 0 = none yet.
	LogTimes [events.NumInputs]int64
	Records  []RecordStats
}

// ErrEmpty is returned for a store that was created but never written to. It belongs to no
// partition yet.
var ErrEmpty = errors.New("nothing was written to it yet")

// RecordStats counts the records of one kind.
type RecordStats struct {
	Kind       string
	Count      int64
	KeyBytes   int64
	ValueBytes int64
}

// Inspect reads the store in dir without changing anything, whatever the store belongs to. It needs
// exclusive use of the directory and refuses the store of a running node. A nil fs means the
// operating system's.
//
// Inspect recomputes the digest from all records, and returns an error if the header has a
// different one.
func Inspect(dir string, fs vfs.FS) (*Inspection, error) { return inspectDir(dir, fs, true) }

// InspectHeader does the same without reading the records, so it is fast for a store of any size.
func InspectHeader(dir string, fs vfs.FS) (*Inspection, error) { return inspectDir(dir, fs, false) }

func inspectDir(dir string, fs vfs.FS, records bool) (x *Inspection, err error) {
	f := store.NewFuse(dir, store.Options{FS: fs}, func(error) {})
	db, tables, err := store.OpenReadOnly(dir, store.PebbleOptions(f, store.Options{FS: fs}))
	if err != nil {
		return nil, err
	}
	if err := f.Whole(db, func() error {
		x, err = inspect(dir, db, tables, records)
		return err
	}); err != nil {
		return x, err
	}
	return x, db.Close()
}

func inspect(dir string, db *pebble.DB, tables, records bool) (*Inspection, error) {
	v, closer, err := db.Get([]byte{keys.Header})
	if errors.Is(err, pebble.ErrNotFound) {
		// As in Open: a store without a header is new only if it has no records either.
		if err := (&Partition{db: db}).loadEmpty(dir, tables); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("store %s: it has no header: %w", dir, ErrEmpty)
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: its header cannot be read: %w", dir, err)
	}
	var h identity.Header
	err = errors.Join(h.Decode(v), closer.Close())
	if err != nil {
		return nil, fmt.Errorf("store %s: its header is corrupt: %w", dir, err)
	}
	x := &Inspection{Identity: h.Identity, Format: h.Format, Fold: h.Fold, Position: h.Position, Digest: h.Digest.Bytes()}
	if !identity.Known(h.Format) {
		return x, fmt.Errorf("store %s: format %d is not known to this build, which knows %d to %d", dir, h.Format, FormatVersion, NewestFormat)
	}
	for i, t := range h.Times {
		if t != state.MinTime {
			x.LogTimes[i] = t
		}
	}
	if !records {
		return x, nil
	}
	sum, err := x.count(db)
	if err == nil && sum != h.Digest {
		err = fmt.Errorf("store %s: its records have the digest %x, its header says %x: it is corrupt", dir, sum.Bytes(), h.Digest.Bytes())
	}
	return x, err
}

// count reads all records.
func (x *Inspection) count(db *pebble.DB) (sum keys.Digest, err error) {
	it, err := db.NewIter(nil)
	if err != nil {
		return sum, err
	}
	x.Records = make([]RecordStats, len(keys.Kinds))
	for i, k := range keys.Kinds {
		x.Records[i].Kind = k.Name
	}
	for it.First(); it.Valid(); it.Next() {
		key, val := it.Key(), it.Value()
		if key[0] == keys.Header || key[0] == keys.Cut {
			continue
		}
		sum.Add(keys.RecordHash(key, val))
		if i := keys.KindOf(key); i >= 0 {
			s := &x.Records[i]
			s.Count++
			s.KeyBytes += int64(len(key))
			s.ValueBytes += int64(len(val))
		} else {
			err = errors.Join(err, fmt.Errorf("record %q is of an unknown kind", key))
		}
	}
	return sum, errors.Join(err, it.Error(), it.Close())
}
