package projections

import (
	"bytes"
	"slices"
	"testing"
)

// FuzzEntry reads any bytes as a message of the log: what can be read is read again from what it is written as.
func FuzzEntry(f *testing.F) {
	e := entry{seq: 9, flags: entReply | entMentions, time: 5, logTime: 7, off: 8, prevOwn: 3, prevIn: 2,
		id: []byte("m9"), sender: []byte("ann"), preview: []byte("hi"), thread: []byte("m1"), users: []byte("\x03bob")}
	f.Add(e.append(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again entry
		if e.decode(1<<20, b) != nil {
			return
		}
		out := e.append(nil)
		if err := again.decode(1<<20, out); err != nil {
			t.Fatalf("%x cannot be read again: %v", out, err)
		}
		if !bytes.Equal(again.append(nil), out) {
			t.Errorf("%x is read again as %x", out, again.append(nil))
		}
	})
}

// FuzzReceiptBlock reads any bytes as a block of receipts: all entries are of the block and of its page of members, and
// what is written of them is read again.
func FuzzReceiptBlock(f *testing.F) {
	const block, page = 3, 5
	at := func(ord, seq uint32, kind uint8, at int64) advance {
		return advance{ord: page*pageLen + ord, seq: block*receiptBlock + seq, kind: kind, at: at}
	}
	list := []advance{at(0, 1, entryRead, 100), at(63, 8, entryRead, 90), at(1, 2, entrySingle, 95), at(2, 3, entryDelivered, 1), at(2, 8, entryDeliveredTo, 2)}
	f.Add(encodeBlock(nil, list))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := appendBlock(nil, b, block, page, 0)
		if err != nil || len(list) == 0 {
			return
		}
		for i := range list {
			if a := &list[i]; a.block() != block || a.ord/pageLen != page || a.kind > entryDeliveredTo {
				t.Fatalf("entry %d: %+v", i, *a)
			}
		}
		again, err := appendBlock(nil, encodeBlock(nil, list), block, page, 0)
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%v is read again as %v: %v", list, again, err)
		}
	})
}
