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
	Entries []Entry
	arena   []byte
	Bytes   int64

	// newest and before are the index of Under: the newest entry of each channel and kind, and for
	// each entry the previous one. They belong to the goroutine that folds.
	newest map[uint64]uint32
	before []uint32
}

// Entry is a record, or the deletion of one.
type Entry struct {
	Key, Val []byte
	Deleted  bool
}

const overlayChunk = 256 << 10

func (o *Overlay) copy(b []byte) []byte {
	if cap(o.arena)-len(o.arena) < len(b) {
		o.arena = make([]byte, 0, max(overlayChunk, len(b)))
	}
	n := len(o.arena)
	o.arena = append(o.arena, b...)
	return o.arena[n : n+len(b) : n+len(b)]
}

func (o *Overlay) find(hash uint64, key []byte) uint32 {
	return o.tab.Find(hash, func(ref uint32) bool { return bytes.Equal(o.Entries[ref-1].Key, key) })
}

// Put adds a record, or the deletion of one.
func (o *Overlay) Put(key, val []byte, deleted bool) {
	h := arena.Mix(xxh3.Hash(key))
	o.Bytes += int64(len(key) + len(val) + 16)
	if ref := o.find(h, key); ref != 0 {
		e := &o.Entries[ref-1]
		e.Val, e.Deleted = o.copy(val), deleted
		return
	}
	o.Entries = append(o.Entries, Entry{o.copy(key), o.copy(val), deleted})
	o.tab.Insert(h, uint32(len(o.Entries)))
}

// Under calls fn for the entries of this overlay (not of Below) whose keys begin with prefix, the
// newest first. prefix is a kind, a channel id and 0. Under costs as much as it finds; in addition,
// each entry is indexed once.
func (o *Overlay) Under(prefix []byte, fn func(e *Entry)) {
	if o.newest == nil {
		o.newest = map[uint64]uint32{}
	}
	for i := len(o.before); i < len(o.Entries); i++ {
		key := o.Entries[i].Key
		h := xxh3.Hash(key[:2+bytes.IndexByte(key[1:], 0)])
		o.before = append(o.before, o.newest[h])
		o.newest[h] = uint32(i + 1)
	}
	for i := o.newest[xxh3.Hash(prefix)]; i != 0; i = o.before[i-1] {
		if e := &o.Entries[i-1]; bytes.HasPrefix(e.Key, prefix) {
			fn(e)
		}
	}
}

// Get returns the overlay's record of a key. ok reports whether the overlay has one; deleted, that
// it is a deletion.
func (o *Overlay) Get(key []byte) (val []byte, deleted, ok bool) {
	for h := uint64(0); o != nil; o = o.Below {
		if len(o.Entries) == 0 {
			continue
		}
		if h == 0 {
			h = arena.Mix(xxh3.Hash(key))
		}
		if ref := o.find(h, key); ref != 0 {
			e := &o.Entries[ref-1]
			return e.Val, e.Deleted, true
		}
	}
	return nil, false, false
}

// Len returns the number of records, shadowed ones included.
func (o *Overlay) Len() (n int) {
	for ; o != nil; o = o.Below {
		n += len(o.Entries)
	}
	return n
}

// HeapBytes is the memory of the overlay and of those below it.
func (o *Overlay) HeapBytes() (n int64) {
	for ; o != nil; o = o.Below {
		n += o.tab.Bytes() + arena.ListBytes(o.Entries) + o.Bytes
	}
	return n
}
