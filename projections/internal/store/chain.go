package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// Pebble notices when a byte of a record is wrong. What it does not notice is that whole batches
// are gone: it takes a manifest that is damaged somewhere for one that ends there, and a log file
// that is missing for one that never was, and opens what remains, the newest header included. The
// chain of cuts makes that visible at any later time, however many cuts follow: each cut writes a
// record with its own number and deletes that of the cut before it; the record of number 0 is
// written by the first cut and never deleted. So a store has two of them. If a run of cuts is lost,
// the one that the first of them would have deleted stays for ever; if the run begins with the
// first cut, number 0 is missing.
//
// The record's value is the digest of all hot records. They are read when the store opens, which
// checks it for nothing.

// Link adds to a batch the link that follows the cut of this number, which is 0 before the first,
// and returns its own.
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

// LoadChain reads the chain of a store that has a header, and returns the number of its last cut,
// and what the digest of its hot records has to be.
func LoadChain(db *pebble.DB) (number uint64, hot [16]byte, err error) {
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
	case len(numbers) == 0 || numbers[0] != 0:
		return 0, hot, errors.New("its first cuts are missing, as if a file had been lost or damaged")
	case len(numbers) == 1:
		return 0, hot, errors.New("its last cut is missing, as if a file had been lost or damaged")
	case len(numbers) > 2:
		return 0, hot, fmt.Errorf("cuts that followed number %d are missing, as if a file had been lost or damaged", numbers[1])
	}
	return numbers[1], hot, nil
}
