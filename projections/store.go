package projections

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/overlay"
	"github.com/tidemark/tidemark/projections/internal/views"
)

// newPartition returns a partition without a database.
func newPartition(id Identity) *Partition {
	p := &Partition{id: id}
	p.rules.Begin(id.Settings, backing{p})
	p.stored.Iterate = func() (views.Iterator, error) {
		it, err := p.records.NewIter(nil)
		if err != nil {
			return nil, err
		}
		return it, nil
	}
	p.Queries = views.NewQueries(&p.rules, &p.stored)
	return p
}

// backing gives the rules access to records that are not in memory.
type backing struct{ *Partition }

// Stored implements state.Backing.
func (p backing) Stored(key []byte) (val []byte, ok bool, err error) {
	if v, deleted, known := p.stored.Pending.Get(key); known {
		return v, !deleted, nil
	}
	return p.getStored(key)
}

// getStored returns a record from Pebble.
func (p *Partition) getStored(key []byte) (val []byte, ok bool, err error) {
	p.reads()
	v, closer, err := p.records.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading key %q: %w", key, err)
	}
	return append([]byte(nil), v...), true, closer.Close()
}

// reads comes before a record is read from the store.
func (p *Partition) reads() {
	if p.onRead != nil {
		p.onRead()
	}
}

// Scan calls fn for every record under prefix, pending ones included, in no particular order. fn
// may write. Scan keeps only the pending records in memory, because a channel may have more records
// than fit there.
func (p backing) Scan(prefix []byte, fn func(key, val []byte)) error {
	type record struct{ key, val []byte }
	var found []record
	seen := map[string]bool{}
	note := func(e overlay.Entry) {
		if seen[string(e.Key)] {
			return
		}
		seen[string(e.Key)] = true
		if !e.Deleted {
			found = append(found, record{e.Key, e.Val})
		}
	}
	p.rules.Written.Now.Under(prefix, note)
	for o := p.stored.Pending; o != nil; o = o.Below {
		o.Under(prefix, note)
	}
	it, err := p.records.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: keys.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	for it.First(); it.Valid(); it.Next() { // the iterator sees the store as it was when the iteration began
		if !seen[string(it.Key())] {
			fn(it.Key(), it.Value())
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return err
	}
	for _, r := range found {
		fn(r.key, r.val)
	}
	return nil
}
