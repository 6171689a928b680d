package projections

import (
	"bytes"

	"github.com/zeebo/xxh3"
)

// overlay holds records that were written since a cut and are not in Pebble yet. It is append-only: a later record of
// the same key shadows the earlier one. Keys and values live in chunks that never move.
type overlay struct {
	tab     table
	entries []overlayEntry
	arena   []byte
	bytes   int64
}

type overlayEntry struct {
	key, val []byte
	deleted  bool
}

const overlayChunk = 256 << 10

func (o *overlay) copy(b []byte) []byte {
	if cap(o.arena)-len(o.arena) < len(b) {
		o.arena = make([]byte, 0, max(overlayChunk, len(b)))
	}
	n := len(o.arena)
	o.arena = append(o.arena, b...)
	return o.arena[n : n+len(b) : n+len(b)]
}

func (o *overlay) find(hash uint64, key []byte) uint32 {
	return o.tab.find(hash, func(ref uint32) bool { return bytes.Equal(o.entries[ref-1].key, key) })
}

func (o *overlay) put(key, val []byte, deleted bool) {
	h := mix(xxh3.Hash(key))
	o.bytes += int64(len(key) + len(val) + 16)
	if ref := o.find(h, key); ref != 0 {
		e := &o.entries[ref-1]
		e.val, e.deleted = o.copy(val), deleted
		return
	}
	o.entries = append(o.entries, overlayEntry{o.copy(key), o.copy(val), deleted})
	o.tab.insert(h, uint32(len(o.entries)))
}

// get reports whether the overlay knows the key; deleted then says that it is gone.
func (o *overlay) get(key []byte) (val []byte, deleted, ok bool) {
	if o == nil || len(o.entries) == 0 {
		return nil, false, false
	}
	ref := o.find(mix(xxh3.Hash(key)), key)
	if ref == 0 {
		return nil, false, false
	}
	e := &o.entries[ref-1]
	return e.val, e.deleted, true
}
