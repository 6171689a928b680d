package views

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/keys"
)

// blockKey names a block of receipts in its channel; thread is empty for the channel's own scope.
type blockKey struct {
	block, page uint32
	thread      []byte
}

func (k blockKey) equal(o blockKey) bool {
	return k.block == o.block && k.page == o.page && bytes.Equal(k.thread, o.thread)
}

// blockKeys is a set of blocks to read: the blocks of a range of messages, of some pages of members
// each, of the channel's own scope and possibly of one thread.
type blockKeys struct {
	first, last uint32
	pages       []uint32 // pages of every block, ascending; if empty, last is first
	atFirst     []uint32 // pages of block first, ascending; includes pages
	thread      []byte   // empty: none
}

func (w *blockKeys) of(block uint32) []uint32 {
	if block == w.first {
		return w.atFirst
	}
	return w.pages
}

// count returns the number of keys.
func (w *blockKeys) count() int {
	n := len(w.atFirst) + int(w.last-w.first)*len(w.pages)
	if len(w.thread) > 0 {
		n *= 2
	}
	return n
}

// eachReceipt calls fn for the stored blocks among w, in no particular order. The value is valid
// during the call.
func (m *moment) eachReceipt(ctx context.Context, w *blockKeys, fn func(k blockKey, val []byte) error) error {
	if err := m.eachPendingReceipt(ctx, w, fn); err != nil {
		return err
	}
	prefix := append(append([]byte{keys.Receipts}, m.channel...), 0)
	var kb [keys.Buf]byte
	key := func(k blockKey) []byte { return keys.AppendReceipt(kb[:0], m.channel, k.block, k.page, k.thread) }
	first, any := w.from(blockKey{block: w.first})
	for ok := any && m.it.SeekGE(key(first)); ok; {
		if err := m.checkStopped(ctx); err != nil {
			return err
		}
		k, in, err := parseBlockKey(prefix, m.it.Key())
		if err != nil {
			return err
		}
		next, more := w.from(k)
		if !in || !more {
			break
		}
		if !next.equal(k) {
			ok = m.it.SeekGE(key(next))
			continue
		}
		if _, _, known := m.pending.Get(m.it.Key()); !known {
			val, err := m.it.ValueAndErr()
			if err == nil {
				err = fn(k, val)
			}
			if err != nil {
				return fmt.Errorf("record %q: %w", m.it.Key(), err)
			}
		}
		ok = m.it.Next()
	}
	return m.it.Error()
}

// eachPendingReceipt is eachReceipt for the cut that was not applied. It looks up each key, or goes
// through all records if those are fewer.
func (m *moment) eachPendingReceipt(ctx context.Context, w *blockKeys, fn func(k blockKey, val []byte) error) error {
	if m.pending.Len() == 0 {
		return nil
	}
	if w.count() <= m.pending.Len() {
		var kb [keys.Buf]byte
		for k, ok := w.from(blockKey{block: w.first}); ok; k, ok = w.from(w.after(k)) {
			if err := m.checkStopped(ctx); err != nil {
				return err
			}
			key := keys.AppendReceipt(kb[:0], m.channel, k.block, k.page, k.thread)
			if val, deleted, known := m.pending.Get(key); known && !deleted {
				if err := fn(k, val); err != nil {
					return fmt.Errorf("record %q: %w", key, err)
				}
			}
		}
		return nil
	}
	prefix := append(append([]byte{keys.Receipts}, m.channel...), 0)
	for i := range m.pending.Count() { // overlays below have no receipts except deletions, because folding writes no blocks
		e := m.pending.At(i)
		k, in, err := parseBlockKey(prefix, e.Key)
		if err != nil {
			return err
		}
		if !in || e.Deleted || k.block < w.first {
			continue
		}
		if at, ok := w.from(k); ok && at.equal(k) {
			if err := fn(k, e.Val); err != nil {
				return fmt.Errorf("record %q: %w", e.Key, err)
			}
		}
	}
	return nil
}

// from returns the first requested key at or after k. k must not be before the first block.
func (w *blockKeys) from(k blockKey) (blockKey, bool) {
	for ; k.block <= w.last; k = (blockKey{block: k.block + 1}) {
		pages := w.of(k.block)
		at, _ := slices.BinarySearch(pages, k.page)
		for _, page := range pages[at:] {
			switch {
			case page > k.page || len(k.thread) == 0:
				return blockKey{block: k.block, page: page}, true
			case len(w.thread) > 0 && bytes.Compare(k.thread, w.thread) <= 0:
				return blockKey{block: k.block, page: page, thread: w.thread}, true
			}
		}
	}
	return blockKey{}, false
}

// after returns the next requested key following k.
func (w *blockKeys) after(k blockKey) blockKey {
	if len(k.thread) == 0 && len(w.thread) > 0 {
		return blockKey{block: k.block, page: k.page, thread: w.thread}
	}
	return blockKey{block: k.block, page: k.page + 1}
}

// parseBlockKey parses the key of a block of receipts of the channel with this prefix. in is false
// for any other key.
func parseBlockKey(prefix, key []byte) (k blockKey, in bool, err error) {
	rest, in := bytes.CutPrefix(key, prefix)
	if !in {
		return k, false, nil
	}
	if len(rest) < 8 {
		return k, true, fmt.Errorf("record %q: its key is cut short", key)
	}
	return blockKey{binary.BigEndian.Uint32(rest), binary.BigEndian.Uint32(rest[4:]), rest[8:]}, true, nil
}
