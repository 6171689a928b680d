package receipts

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/wire"
)

// BlockLen is the number of messages in a block of receipts; it divides history.BlockLen.
const BlockLen = 8

// Kept is how long receipts are kept, in milliseconds of log time (DESIGN §4.5).
const Kept = 90 * 24 * 3600 * 1000

// Kinds of entries.
const (
	Read        = iota // read up to a message
	Single             // read one message
	Delivered          // received one message
	DeliveredTo        // received everything up to a message
	Viewed             // played or opened one message
	WithThreads        // read up to a message, and all threads
	Dropped            // an entry of an erased user or a deleted channel that was not written yet
)

// Entry is an entry that is not in a block yet. It has no pointers.
type Entry struct {
	Next   uint32 // the channel's previous entry, 0 = none
	Ord    uint32 // ordinal of the member
	Seq    uint32
	Thread uint32 // 0: the channel's own scope
	At     int64
	Slot   uint32 // the channel's index in the list of channels with entries
	Kind   uint8
}

// Block returns the number of the block with the entry's message.
func (a *Entry) Block() uint32 { return (a.Seq - 1) / BlockLen }

// place returns the position of the entry's block in the channel, without the thread.
func (a *Entry) place() uint64 { return uint64(a.Block())<<32 | uint64(a.Ord/keys.PageLen) }

// code encodes the entry within its block. Blocks are ordered by code.
func (a *Entry) code() uint64 {
	return uint64(a.Kind)*keys.PageLen*BlockLen + uint64(a.Ord%keys.PageLen)*BlockLen + uint64((a.Seq-1)%BlockLen)
}

// rank orders entries as in the store. Of several entries of one message and member, the earliest
// comes last.
func rank(a, o Entry) int {
	if x, y := a.place(), o.place(); x != y {
		return cmp.Compare(x, y)
	}
	if x, y := uint64(a.Thread)<<32|a.code(), uint64(o.Thread)<<32|o.code(); x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(o.At, a.At)
}

// SameBlock reports whether both entries are in one block.
func (a *Entry) SameBlock(o *Entry) bool {
	return a.place() == o.place() && a.Thread == o.Thread
}

// MergeBlocks appends the entries of two sorted lists in order.
func MergeBlocks(out, a, b []Entry) []Entry {
	for len(a) > 0 && len(b) > 0 {
		if rank(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// JoinBlock drops redundant entries from the sorted entries of a block. A read up to a message is
// redundant if the same member has one up to that message or further, no later. Such a read makes
// single reads redundant too. Deliveries work alike.
func JoinBlock(out, block []Entry) []Entry {
	kind := func(k uint8) []Entry {
		from, _ := slices.BinarySearchFunc(block, k, func(a Entry, k uint8) int { return cmp.Compare(a.Kind, k) })
		to, _ := slices.BinarySearchFunc(block, k+1, func(a Entry, k uint8) int { return cmp.Compare(a.Kind, k) })
		return block[from:to]
	}
	reads, deliveries := stairs(kind(Read)), stairs(kind(DeliveredTo))
	out = append(out, reads...)
	out = appendSingles(out, kind(Single), reads)
	out = appendSingles(out, kind(Delivered), deliveries)
	out = append(out, deliveries...)
	out = appendSingles(out, kind(Viewed), nil)
	return append(out, stairs(kind(WithThreads))...)
}

// stairs drops each entry for which the same member has one that is further and no later.
func stairs(list []Entry) []Entry {
	at := len(list)
	for i, a := range slices.Backward(list) {
		if at < len(list) && list[at].Ord == a.Ord && list[at].At <= a.At {
			continue
		}
		at--
		list[at] = list[i]
	}
	return list[at:]
}

// appendSingles appends the earliest of the entries of each message, unless an entry of stairs
// covers it.
func appendSingles(out, singles, stairs []Entry) []Entry {
	for i, a := range singles {
		if i+1 < len(singles) && singles[i+1].Ord == a.Ord && singles[i+1].Seq == a.Seq {
			continue // the next entry is no later
		}
		j, _ := slices.BinarySearchFunc(stairs, a, func(s, a Entry) int {
			return cmp.Or(cmp.Compare(s.Ord, a.Ord), cmp.Compare(s.Seq, a.Seq))
		})
		if j == len(stairs) || stairs[j].Ord != a.Ord || stairs[j].At > a.At {
			out = append(out, a)
		}
	}
	return out
}

// EncodeBlock encodes the entries of a block in order: first the earliest time, then for each entry
// the distance of its code from the previous one, and of its time from the earliest.
func EncodeBlock(b []byte, block []Entry) []byte {
	base := block[0].At
	for i := range block {
		base = min(base, block[i].At)
	}
	b = binary.AppendVarint(b, base)
	last := uint64(0)
	for i := range block {
		a := &block[i]
		code := a.code()
		b = binary.AppendUvarint(b, code-last)
		b = binary.AppendUvarint(b, uint64(a.At-base))
		last = code
	}
	return b
}

// DecodeBlock decodes a block.
func DecodeBlock(list []Entry, b []byte, block, page, thread uint32) ([]Entry, error) {
	r := wire.Reader{B: b}
	base, code := r.Varint(), uint64(0)
	for len(r.B) > 0 && r.Err == nil {
		code += r.Uvarint()
		kind := code / (keys.PageLen * BlockLen)
		if kind > WithThreads {
			return list, fmt.Errorf("an entry of unknown kind %d", kind)
		}
		list = append(list, Entry{
			Ord: page*keys.PageLen + uint32(code/BlockLen%keys.PageLen), Seq: block*BlockLen + uint32(code%BlockLen) + 1,
			Thread: thread, At: base + int64(r.Uvarint()), Kind: uint8(kind),
		})
	}
	return list, r.Done()
}
