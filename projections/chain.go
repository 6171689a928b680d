package projections

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Pebble notices when a byte of a record is wrong. What it does not notice is that whole batches are gone: it takes a
// manifest that is damaged somewhere for one that ends there, and a log file that is missing for one that never was,
// and opens what remains, the newest header included. The chain of cuts makes that visible at any later time, however
// many cuts follow: each cut writes a record with its own number and deletes that of the cut before it; the record of
// number 0 is written by the first cut and never deleted. So a store has two of them. If a run of cuts is lost, the one
// that the first of them would have deleted stays for ever; if the run begins with the first cut, number 0 is missing.
//
// The record's value is the digest of all hot records. They are read when the store opens, which checks it for nothing.

func appendCutKey(dst []byte, n uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, keyCut), n)
}

// link adds the next link of the chain to the batch of a cut.
func (p *Partition) link(b *pebble.Batch) error {
	var kb [keyBuf]byte
	var err error
	if p.cuts == 0 {
		err = b.Set(appendCutKey(kb[:0], 0), nil, nil)
	} else {
		err = b.Delete(appendCutKey(kb[:0], p.cuts), nil)
	}
	p.cuts++
	sum := p.hot.bytes()
	return errors.Join(err, b.Set(appendCutKey(kb[:0], p.cuts), sum[:], nil))
}

// loadChain reads the chain of a store that has a header, and returns what the digest of its hot records has to be.
func (p *Partition) loadChain() (hot [16]byte, err error) {
	it, err := p.db.NewIter(&pebble.IterOptions{LowerBound: []byte{keyCut}, UpperBound: []byte{keyCut + 1}})
	if err != nil {
		return hot, err
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
		return hot, err
	}
	switch {
	case len(numbers) == 0 || numbers[0] != 0:
		return hot, errors.New("its first cuts are missing, as if a file had been lost or damaged")
	case len(numbers) == 1:
		return hot, errors.New("its last cut is missing, as if a file had been lost or damaged")
	case len(numbers) > 2:
		return hot, fmt.Errorf("cuts that followed number %d are missing, as if a file had been lost or damaged", numbers[1])
	}
	p.cuts = numbers[1]
	return hot, nil
}
