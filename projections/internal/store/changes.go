package store

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// change is one change of a batch.
type change struct {
	key, val []byte
	deleted  bool
}

// changes yields the last change of each key of a batch, in the order of the keys.
func changes(batch *pebble.Batch) iter.Seq2[change, error] {
	return func(yield func(change, error) bool) {
		repr := batch.Repr()
		// Keys of one kind have long beginnings in common, which arena.Order leaves out of its comparisons.
		var offsets [256][]uint32
		for r := batchrepr.Read(repr); len(r) > 0; {
			at := uint32(len(repr) - len(r))
			c, err := next(&r)
			if err != nil {
				yield(change{}, err)
				return
			}
			offsets[c.key[0]] = append(offsets[c.key[0]], at)
		}
		key := func(at uint32) []byte {
			r := batchrepr.Reader(repr[at:])
			_, key, _, _, _ := r.Next()
			return key
		}
		var sorter arena.Order
		for _, of := range offsets {
			order := sorter.Of(len(of), func(i uint32) []byte { return key(of[i]) })
			for len(order) > 0 {
				last, same := of[order[0]], 1
				for ; same < len(order) && bytes.Equal(key(of[order[same]]), key(last)); same++ {
					last = max(last, of[order[same]])
				}
				order = order[same:]
				r := batchrepr.Reader(repr[last:])
				if c, err := next(&r); !yield(c, err) {
					return
				}
			}
		}
	}
}

// next reads a change.
func next(r *batchrepr.Reader) (change, error) {
	kind, key, val, _, err := r.Next()
	switch {
	case err != nil:
		return change{}, err
	case kind != pebble.InternalKeyKindSet && kind != pebble.InternalKeyKindDelete, len(key) == 0:
		return change{}, fmt.Errorf("a change of kind %v of the key %q cannot be written into a table", kind, key)
	}
	return change{key: key, val: val, deleted: kind == pebble.InternalKeyKindDelete}, nil
}

// write adds the change to a table.
func (c *change) write(to *sstable.Writer) error {
	if c.deleted {
		return to.Delete(c.key)
	}
	return to.Set(c.key, c.val)
}
