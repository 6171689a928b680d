package store

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/projections/internal/identity"
	"github.com/tidemark/tidemark/projections/internal/keys"
)

// excerptMemory is the memory, in bytes, of the cache and of each memtable of a database with an
// excerpt.
const excerptMemory = 1 << 20

// Excerpt writes a store into dir of fs, which must not exist. The store has the records of some
// channels of db, as of the last applied cut: the hot records, the index and the log, but no
// receipts. Excerpt returns the position of that cut, and the channels that it leaves out because
// they have more than most bytes. It calls stop now and then, and ends with its error.
func Excerpt(db *pebble.DB, fs vfs.FS, dir string, channels []string, most int64, stop func() error) (at identity.Position, large []string, err error) {
	from := db.NewSnapshot()
	defer func() { err = errors.Join(err, from.Close()) }()
	var h identity.Header
	v, closer, err := from.Get([]byte{keys.Header})
	if err != nil {
		return at, nil, fmt.Errorf("the header of the store: %w", err)
	}
	if err := errors.Join(h.Decode(v), closer.Close()); err != nil {
		return at, nil, fmt.Errorf("the header of the store: %w", err)
	}
	var broken error
	o := PebbleOptions(NewFuse(dir, Options{FS: fs}, func(err error) { broken = err }), Options{MemTableSize: excerptMemory})
	o.Cache, o.ErrorIfExists = pebble.NewCache(excerptMemory), true
	defer o.Cache.Unref()
	to, err := pebble.Open(dir, o)
	if err != nil {
		return at, nil, fmt.Errorf("excerpt in %s: %w", dir, err)
	}
	x := excerpt{from: from, to: to, stop: stop}
	for _, id := range channels {
		var whole bool
		if whole, err = x.channel([]byte(id), most); err != nil {
			break
		}
		if !whole {
			large = append(large, id)
		}
	}
	if err == nil {
		h.Digest = x.all
		err = x.head(&h)
	}
	if err = errors.Join(err, to.Close(), broken); err != nil {
		return at, nil, fmt.Errorf("excerpt in %s: %w", dir, err)
	}
	return h.Position, large, nil
}

// excerpt is a store in the making.
type excerpt struct {
	from     *pebble.Snapshot
	to       *pebble.DB
	all, hot keys.Digest // digests of the records written so far
	read     int         // records read
	stop     func() error
}

// channel copies the records of a channel. It returns false, and copies nothing, if they have more
// than most bytes.
func (x *excerpt) channel(id []byte, most int64) (whole bool, err error) {
	batch := x.to.NewBatch()
	defer func() { err = errors.Join(err, batch.Close()) }()
	all, hot := x.all, x.hot
	for _, kind := range []byte{keys.Hot, keys.Index, keys.Log} {
		prefix := append(append([]byte{kind}, id...), 0)
		it, err := x.from.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: keys.PrefixEnd(prefix)})
		if err != nil {
			return false, err
		}
		for it.First(); it.Valid() && err == nil && int64(batch.Len()) <= most; it.Next() {
			hash := keys.RecordHash(it.Key(), it.Value())
			all.Add(hash)
			if kind == keys.Hot {
				hot.Add(hash)
			}
			if err = batch.Set(it.Key(), it.Value(), nil); err == nil {
				err = x.asked()
			}
		}
		if err := errors.Join(err, it.Error(), it.Close()); err != nil {
			return false, err
		}
	}
	if int64(batch.Len()) > most {
		return false, nil
	}
	x.all, x.hot = all, hot
	return true, batch.Commit(pebble.NoSync)
}

// asked calls stop after every few records.
func (x *excerpt) asked() error {
	const each = 256
	if x.read++; x.read%each != 0 {
		return nil
	}
	return x.stop()
}

// head writes the header and a chain of one cut.
func (x *excerpt) head(h *identity.Header) error {
	batch := x.to.NewBatch()
	_, err := Link(batch, 0, x.hot)
	err = errors.Join(err, batch.Set([]byte{keys.Header}, h.Append(nil), nil))
	if err == nil {
		err = batch.Commit(pebble.NoSync)
	}
	return errors.Join(err, batch.Close())
}
