package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Pebble detects a wrong byte in a record. It does not detect that whole batches are gone: it reads
// a damaged manifest as one that ends at the damage, and does not miss a log file that is gone. It
// then opens what remains, including the newest header. The chain of cuts makes such a loss visible
// later, however many cuts follow. Each cut writes a record with its own number and deletes that of
// the previous cut; the first cut also writes the record of number 0, which is never deleted. So a
// store has two of these records. If a run of cuts is lost, the record that the first of them would
// have deleted stays forever; if the run begins with the first cut, number 0 is missing.
//
// The record's value is the digest of all hot records. A store reads them anyway when it opens, so
// checking the digest costs nothing more.

// Link adds the next link of the chain to a batch and returns its number. number is that of the
// previous cut, 0 before the first.
func Link(batch *pebble.Batch, number uint64, hot keys.Digest) (uint64, error) {
	var kb [keys.Buf]byte
	var err error
	if number == 0 {
		err = batch.Set(keys.AppendCut(kb[:0], 0), nil, nil)
	} else {
		err = batch.Delete(keys.AppendCut(kb[:0], number), nil)
	}
	number++
	sum := hot.Bytes()
	return number, errors.Join(err, batch.Set(keys.AppendCut(kb[:0], number), sum[:], nil))
}

// LoadChain reads the chain of a store that has a header. It returns the number of the last cut,
// and the digest that its hot records must have. empty says that the header is at the beginning of all
// topics: there may be no cut yet (Writer).
func LoadChain(db *pebble.DB, empty bool) (number uint64, hot [16]byte, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{keys.Cut}, UpperBound: []byte{keys.Cut + 1}})
	if err != nil {
		return 0, hot, err
	}
	var numbers []uint64
	for it.First(); it.Valid() && len(numbers) < 3 && err == nil; it.Next() {
		if len(it.Key()) != 9 {
			err = fmt.Errorf("record %q: malformed key", it.Key())
			break
		}
		n := binary.BigEndian.Uint64(it.Key()[1:])
		numbers = append(numbers, n)
		if n == 0 {
			continue
		}
		if len(it.Value()) != len(hot) {
			err = fmt.Errorf("record %q: %d bytes instead of %d", it.Key(), len(it.Value()), len(hot))
		}
		copy(hot[:], it.Value())
	}
	if err := errors.Join(err, it.Error(), it.Close()); err != nil {
		return 0, hot, err
	}
	switch {
	case empty && len(numbers) == 0:
		return 0, hot, nil
	case len(numbers) == 0 || numbers[0] != 0:
		return 0, hot, errors.New("its first cuts are missing, as if a file had been lost or damaged")
	case len(numbers) == 1:
		return 0, hot, errors.New("its last cut is missing, as if a file had been lost or damaged")
	case len(numbers) > 2:
		return 0, hot, fmt.Errorf("cuts that followed number %d are missing, as if a file had been lost or damaged", numbers[1])
	}
	return numbers[1], hot, nil
}
