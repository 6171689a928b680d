package projections

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// receiptBlock is the number of messages in a block of receipts; it divides tailLen.
const receiptBlock = 8

// Kinds of entries.
const (
	entryRead        = iota // read up to a message
	entrySingle             // read this message
	entryDelivered          // got this message
	entryDeliveredTo        // got everything up to a message
	entryDropped            // of an erased user or a deleted channel, before it was written
)

// advance is an entry that is not in a block yet. It has no pointers.
type advance struct {
	next   uint32 // the channel's advance before it, 0 = none
	ord    uint32 // member
	seq    uint32
	thread uint32 // 0: the channel's own scope
	at     int64
	slot   uint32 // its channel's place in Partition.advanced
	kind   uint8
}

func (a *advance) block() uint32 { return (a.seq - 1) / receiptBlock }

// place is where the entry's block is in the channel, apart from the thread.
func (a *advance) place() uint64 { return uint64(a.block())<<32 | uint64(a.ord/pageLen) }

// code is the entry in its block, in the order in which blocks have them.
func (a *advance) code() uint64 {
	return uint64(a.kind)*pageLen*receiptBlock + uint64(a.ord%pageLen)*receiptBlock + uint64((a.seq-1)%receiptBlock)
}

// rank orders entries as in the store; of those about one message the earliest is the last.
func rank(a, o advance) int {
	if x, y := a.place(), o.place(); x != y {
		return cmp.Compare(x, y)
	}
	if x, y := uint64(a.thread)<<32|a.code(), uint64(o.thread)<<32|o.code(); x != y {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(o.at, a.at)
}

func (a *advance) sameBlock(o *advance) bool {
	return a.place() == o.place() && a.thread == o.thread
}

func appendReceiptKey(dst, channel []byte, block, page uint32, thread []byte) []byte {
	dst = append(append(append(dst, keyReceipts), channel...), 0)
	dst = binary.BigEndian.AppendUint32(dst, block)
	return append(binary.BigEndian.AppendUint32(dst, page), thread...)
}

// mergeBlocks appends the entries of two sorted lists in order.
func mergeBlocks(out, a, b []advance) []advance {
	for len(a) > 0 && len(b) > 0 {
		if rank(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// joinBlock drops, from the sorted entries of a block, what says no more than another of the same member: a read up to a
// message by one up to it or further that is no later, a single read by the same, and so for deliveries.
func joinBlock(out, block []advance) []advance {
	kind := func(k uint8) []advance {
		from, _ := slices.BinarySearchFunc(block, k, func(a advance, k uint8) int { return cmp.Compare(a.kind, k) })
		to, _ := slices.BinarySearchFunc(block, k+1, func(a advance, k uint8) int { return cmp.Compare(a.kind, k) })
		return block[from:to]
	}
	reads, deliveries := stairs(kind(entryRead)), stairs(kind(entryDeliveredTo))
	out = append(out, reads...)
	out = appendSingles(out, kind(entrySingle), reads)
	out = appendSingles(out, kind(entryDelivered), deliveries)
	return append(out, deliveries...)
}

// stairs keeps, of each member, what no entry further on says as early.
func stairs(list []advance) []advance {
	at := len(list)
	for i, a := range slices.Backward(list) {
		if at < len(list) && list[at].ord == a.ord && list[at].at <= a.at {
			continue
		}
		at--
		list[at] = list[i]
	}
	return list[at:]
}

// appendSingles appends, of the entries about one message each, the earliest where the stairs do not say as much.
func appendSingles(out, singles, stairs []advance) []advance {
	for i, a := range singles {
		if i+1 < len(singles) && singles[i+1].ord == a.ord && singles[i+1].seq == a.seq {
			continue // the next is no later
		}
		j, _ := slices.BinarySearchFunc(stairs, a, func(s, a advance) int {
			return cmp.Or(cmp.Compare(s.ord, a.ord), cmp.Compare(s.seq, a.seq))
		})
		if j == len(stairs) || stairs[j].ord != a.ord || stairs[j].at > a.at {
			out = append(out, a)
		}
	}
	return out
}

// encodeBlock encodes the entries of a block, in order: the earliest time, then of each how far its code is beyond that
// of the one before, and its time beyond the earliest.
func encodeBlock(b []byte, block []advance) []byte {
	base := block[0].at
	for i := range block {
		base = min(base, block[i].at)
	}
	b = binary.AppendVarint(b, base)
	last := uint64(0)
	for i := range block {
		a := &block[i]
		code := a.code()
		b = binary.AppendUvarint(b, code-last)
		b = binary.AppendUvarint(b, uint64(a.at-base))
		last = code
	}
	return b
}

// appendBlock decodes a block.
func appendBlock(list []advance, b []byte, block, page, thread uint32) ([]advance, error) {
	r := reader{b: b}
	base, code := r.varint(), uint64(0)
	for len(r.b) > 0 && r.err == nil {
		code += r.uvarint()
		kind := code / (pageLen * receiptBlock)
		if kind > entryDeliveredTo {
			return list, fmt.Errorf("an entry of unknown kind %d", kind)
		}
		list = append(list, advance{
			ord: page*pageLen + uint32(code/receiptBlock%pageLen), seq: block*receiptBlock + uint32(code%receiptBlock) + 1,
			thread: thread, at: base + int64(r.uvarint()), kind: uint8(kind),
		})
	}
	return list, r.done()
}
