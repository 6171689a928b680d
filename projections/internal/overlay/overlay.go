package overlay

import (
	"bytes"

	"github.com/zeebo/xxh3"

	"github.com/tidemark/tidemark/projections/internal/arena"
)

// Overlay holds records that were written since a cut and are not in Pebble yet. It is append-only:
// a later record shadows an earlier one of the same key, and all its records shadow those of Below,
// which does not change any more. Keys and values live in chunks that never move.
type Overlay struct {
	Below   *Overlay // nil if there is none
	tab     arena.Table
	entries []entry
	chunks  [][]byte // have the keys and values; all full, except the last one
	Bytes   int64

	// newest and before are the index of Under: the newest entry of each channel and kind, and for
	// each entry the previous one. They belong to the goroutine that folds.
	newest map[uint64]uint32
	before []uint32
}

// Entry is a record, or the deletion of one. Its slices stay valid.
type Entry struct {
	Key, Val []byte
	Deleted  bool
}

// entry is an Entry. It has no pointers, because the collector would follow all of them.
type entry struct {
	key, val place
	deleted  bool
}

// place is where bytes are in the chunks.
type place struct{ chunk, at, length uint32 }

const overlayChunk = 256 << 10

func (o *Overlay) copy(b []byte) place {
	last := len(o.chunks) - 1
	if last < 0 || cap(o.chunks[last])-len(o.chunks[last]) < len(b) {
		o.chunks = append(o.chunks, make([]byte, 0, max(overlayChunk, len(b))))
		last++
	}
	c := &o.chunks[last]
	at := len(*c)
	*c = append(*c, b...)
	return place{uint32(last), uint32(at), uint32(len(b))} //nolint:gosec // a record has fewer than 4 GiB, and so has memory
}

func (o *Overlay) bytes(p place) []byte {
	end := p.at + p.length
	return o.chunks[p.chunk][p.at:end:end]
}

// Count returns how many entries the overlay has, without those of Below.
func (o *Overlay) Count() int { return len(o.entries) }

// At returns an entry by its number, from 0.
func (o *Overlay) At(i int) Entry {
	e := &o.entries[i]
	return Entry{o.bytes(e.key), o.bytes(e.val), e.deleted}
}

func (o *Overlay) find(hash uint64, key []byte) uint32 {
	return o.tab.Find(hash, func(ref uint32) bool { return bytes.Equal(o.bytes(o.entries[ref-1].key), key) })
}

// Put adds a record, or the deletion of one.
func (o *Overlay) Put(key, val []byte, deleted bool) {
	h := arena.Mix(xxh3.Hash(key))
	o.Bytes += int64(len(key) + len(val) + 16)
	if ref := o.find(h, key); ref != 0 {
		e := &o.entries[ref-1]
		e.val, e.deleted = o.copy(val), deleted
		return
	}
	o.entries = append(o.entries, entry{o.copy(key), o.copy(val), deleted})
	o.tab.Insert(h, uint32(len(o.entries)))
}

// Under calls fn for the entries of this overlay (not of Below) whose keys begin with prefix, the
// newest first. prefix is a kind, a channel id and 0. Under costs as much as it finds; in addition,
// each entry is indexed once.
func (o *Overlay) Under(prefix []byte, fn func(e Entry)) {
	if o.newest == nil {
		o.newest = map[uint64]uint32{}
	}
	for i := len(o.before); i < len(o.entries); i++ {
		key := o.bytes(o.entries[i].key)
		h := xxh3.Hash(key[:2+bytes.IndexByte(key[1:], 0)])
		o.before = append(o.before, o.newest[h])
		o.newest[h] = uint32(i + 1)
	}
	for i := o.newest[xxh3.Hash(prefix)]; i != 0; i = o.before[i-1] {
		if e := o.At(int(i - 1)); bytes.HasPrefix(e.Key, prefix) {
			fn(e)
		}
	}
}

// Get returns the overlay's record of a key. ok reports whether the overlay has one; deleted, that
// it is a deletion.
func (o *Overlay) Get(key []byte) (val []byte, deleted, ok bool) {
	for h := uint64(0); o != nil; o = o.Below {
		if len(o.entries) == 0 {
			continue
		}
		if h == 0 {
			h = arena.Mix(xxh3.Hash(key))
		}
		if ref := o.find(h, key); ref != 0 {
			e := &o.entries[ref-1]
			return o.bytes(e.val), e.deleted, true
		}
	}
	return nil, false, false
}

// Len returns the number of records, shadowed ones included.
func (o *Overlay) Len() (n int) {
	for ; o != nil; o = o.Below {
		n += len(o.entries)
	}
	return n
}

// HeapBytes is the memory of the overlay and of those below it.
func (o *Overlay) HeapBytes() (n int64) {
	for ; o != nil; o = o.Below {
		n += o.tab.Bytes() + arena.ListBytes(o.entries) + o.Bytes
	}
	return n
}
