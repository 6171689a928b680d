package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Ascending reads records whose keys mostly ascend. It moves one iterator, which costs less than a
// search of all levels for each record. It sees the store as of NewAscending.
type Ascending struct{ it *pebble.Iterator }

// NewAscending begins to read the records in [lo, hi).
func NewAscending(r pebble.Reader, lo, hi []byte) (*Ascending, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, err
	}
	return &Ascending{it}, nil
}

// Get returns the record under key. ok reports whether there is one. The bytes are valid until the
// next call.
func (a *Ascending) Get(key []byte) (val []byte, ok bool, err error) {
	if !a.it.SeekGE(key) {
		return nil, false, a.it.Error()
	}
	if !bytes.Equal(a.it.Key(), key) {
		return nil, false, nil
	}
	val, err = a.it.ValueAndErr()
	return val, err == nil, err
}

// Close ends the reading. It returns the first error of the iterator, if Get has not.
func (a *Ascending) Close() error { return a.it.Close() }
