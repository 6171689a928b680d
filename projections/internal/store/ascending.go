package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// Ascending reads records whose keys mostly ascend. It moves one iterator, which costs less than a
// search of all levels for each record. It sees the store as of NewAscending.
type Ascending struct {
	it   *pebble.Iterator
	seek func(key []byte) bool
}

// NewAscending begins to read the records in [lo, hi). sparse says that the caller reads
// few of the records. Then Get skips tables above the lowest level whose filter does not have the key.
// Otherwise the next key is often in the block at hand, and asking the filters would cost more.
func NewAscending(r pebble.Reader, lo, hi []byte, sparse bool) (*Ascending, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: lo, UpperBound: hi})
	if err != nil {
		return nil, err
	}
	if sparse {
		return &Ascending{it, it.SeekPrefixGE}, nil
	}
	return &Ascending{it, it.SeekGE}, nil
}

// Get returns the record under key. ok reports whether there is one. The bytes are valid until the
// next call.
func (a *Ascending) Get(key []byte) (val []byte, ok bool, err error) {
	if !a.seek(key) {
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
