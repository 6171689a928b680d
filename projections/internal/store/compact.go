package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Compacted says what CompactHot did.
type Compacted struct {
	// Before and After are the sizes of the tables that have hot records, in bytes.
	Before, After uint64
	// Done says that something was compacted, possibly before an error.
	Done bool
	// Skipped is why nothing was compacted although it was due; empty otherwise.
	Skipped string
}

// piece is how many bytes of tables are compacted at once. Tables that reach beyond the piece are
// compacted with it, so the first piece may be much larger: it takes level 0 and what is below that. A
// store that is closed waits for the piece that is in progress.
const piece = 16 << 20

// leave is the part of the hot records that need not be in the lowest level: a tenth.
const leave = 10

// lowest is the number of the lowest level.
const lowest = 6

// CompactHot compacts the hot records into the lowest level that has any of them, unless a copy of the store has at least
// half of their bytes: has reports whether the copy has a table of this name and size. Copies that are
// made later then share these records, because compactions rewrite what is above the lowest level
// first. Otherwise the compactions that follow from many writes at once go on for days.
//
// CompactHot needs as much room as the tables that it rewrites, and does nothing if the disk has less
// than twice that, or if busy returns a reason. On a full disk it waits as any write does. It ends
// soon after ctx is done; a compaction that has begun goes on.
func (f *Fuse) CompactHot(ctx context.Context, db *pebble.DB, has func(name string, size uint64) bool, busy func() (why string)) (s Compacted, err error) {
	err = f.try("compacting the store", func() (err error) {
		s, err = compactHot(ctx, f, db, has, busy)
		return err
	})
	return s, err
}

func compactHot(ctx context.Context, f *Fuse, db *pebble.DB, has func(name string, size uint64) bool, busy func() (why string)) (s Compacted, err error) {
	if err := db.Flush(); err != nil {
		return s, err
	}
	hot, above, err := hotTables(db)
	if err != nil {
		return s, err
	}
	var copied uint64
	for i := range hot {
		if s.Before += hot[i].Size; has(fmt.Sprintf("%06d.sst", hot[i].FileNum), hot[i].Size) {
			copied += hot[i].Size
		}
	}
	s.After = s.Before
	if above == 0 || above < s.Before/leave || 2*copied >= s.Before {
		return s, nil
	}
	if s.Skipped = busy(); s.Skipped != "" {
		return s, nil
	}
	if disk, err := f.GetDiskUsage(f.dir); err == nil && disk.AvailBytes/2 < s.Before {
		s.Skipped = fmt.Sprintf("the disk has %d bytes left, and compactions of %d bytes may need twice as many", disk.AvailBytes, s.Before)
		return s, nil
	}
	for _, span := range pieces(hot) {
		if err = ctx.Err(); err == nil {
			err = db.Compact(ctx, span.from, span.to, false)
		}
		if err != nil {
			break
		}
		s.Done = true
	}
	if err != nil {
		return s, err
	}
	hot, _, err = hotTables(db)
	s.After = 0
	for i := range hot {
		s.After += hot[i].Size
	}
	return s, err
}

// hotTables returns the tables with hot records in the order of their first keys, and how many of their
// bytes are above the lowest level.
func hotTables(db *pebble.DB) (hot []pebble.SSTableInfo, above uint64, err error) {
	levels, err := db.SSTables()
	if err != nil {
		return nil, 0, err
	}
	for level, tables := range levels {
		for i := range tables {
			if tables[i].Smallest.UserKey[0] <= keys.Hot && tables[i].Largest.UserKey[0] >= keys.Hot {
				hot = append(hot, tables[i])
				if level < lowest {
					above += tables[i].Size
				}
			}
		}
	}
	slices.SortFunc(hot, func(a, b pebble.SSTableInfo) int { return bytes.Compare(a.Smallest.UserKey, b.Smallest.UserKey) })
	return hot, above, nil
}

// span is a range of keys, both ends included.
type span struct{ from, to []byte }

// pieces cuts the range of the hot records at the first keys of tables.
func pieces(hot []pebble.SSTableInfo) (all []span) {
	var size uint64
	from := []byte{keys.Hot}
	for i := range hot {
		if at := hot[i].Smallest.UserKey; size >= piece && bytes.Compare(at, from) > 0 {
			all = append(all, span{from, at})
			from, size = at, 0
		}
		size += hot[i].Size
	}
	return append(all, span{from, []byte{keys.Hot + 1}})
}
