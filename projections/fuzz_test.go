package projections

import (
	"bytes"
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/history"
	"github.com/tidemark/tidemark/projections/internal/keys"
	"github.com/tidemark/tidemark/projections/internal/receipts"
)

// FuzzEntry decodes any bytes as a message of the log: a decoded message equals the result of
// encoding and decoding it again.
func FuzzEntry(f *testing.F) {
	e := history.Entry{Seq: 9, Flags: history.Reply | history.MentionsUsers, Time: 5, LogTime: 7, Offset: 8, PrevOwn: 3, PrevIn: 2,
		ID: []byte("m9"), Sender: []byte("ann"), Preview: []byte("hi"), Thread: []byte("m1"), Users: []byte("\x03bob")}
	f.Add(e.Append(nil))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again history.Entry
		if e.Decode(1<<20, b) != nil {
			return
		}
		out := e.Append(nil)
		if err := again.Decode(1<<20, out); err != nil {
			t.Fatalf("%x cannot be read again: %v", out, err)
		}
		if !bytes.Equal(again.Append(nil), out) {
			t.Errorf("%x is read again as %x", out, again.Append(nil))
		}
	})
}

// FuzzReceiptBlock decodes any bytes as a block of receipts. All entries belong to the block and to
// its page of members. Encoding and decoding them again gives the same entries.
func FuzzReceiptBlock(f *testing.F) {
	const block, page = 3, 5
	at := func(ord, seq uint32, kind uint8, at int64) receipts.Entry {
		return receipts.Entry{Ord: page*keys.PageLen + ord, Seq: block*receipts.BlockLen + seq, Kind: kind, At: at}
	}
	list := []receipts.Entry{at(0, 1, receipts.Read, 100), at(63, 8, receipts.Read, 90), at(1, 2, receipts.Single, 95), at(2, 3, receipts.Delivered, 1), at(2, 8, receipts.DeliveredTo, 2),
		at(3, 4, receipts.Viewed, 97), at(3, 8, receipts.WithThreads, 98)}
	f.Add(receipts.EncodeBlock(nil, list))
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := receipts.DecodeBlock(nil, b, block, page, 0)
		if err != nil || len(list) == 0 {
			return
		}
		for i := range list {
			if a := &list[i]; a.Block() != block || a.Ord/keys.PageLen != page || a.Kind > receipts.WithThreads {
				t.Fatalf("entry %d: %+v", i, *a)
			}
		}
		again, err := receipts.DecodeBlock(nil, receipts.EncodeBlock(nil, list), block, page, 0)
		if err != nil || !slices.Equal(again, list) {
			t.Errorf("%v is read again as %v: %v", list, again, err)
		}
	})
}
