package history

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// TestIndexedFromIsIndexedOf: IndexedFrom reads the index's fields from an encoded entry without
// decoding the rest.
func TestIndexedFromIsIndexedOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := draw(t)
		b := e.Append(nil)
		x, id, ok := IndexedFrom(e.Seq, b)
		if !ok || x != IndexedOf(&e) || !bytes.Equal(id, e.ID) {
			t.Fatalf("got %+v, %q, %v; want %+v, %q", x, id, ok, IndexedOf(&e), e.ID)
		}
		if x.Flags&^(Silent|Reply|Broadcast) != 0 {
			t.Fatalf("the index says %b of the flags", x.Flags)
		}
		if id, ok := IDFrom(b); !ok || !bytes.Equal(id, e.ID) {
			t.Fatalf("got the id %q, %v, want %q", id, ok, e.ID)
		}
		if id, ok := IDFrom(bytes.Clone(b[:4])); ok {
			t.Fatalf("read the id %q from four bytes", id)
		}
		if _, _, ok := IndexedFrom(e.Seq, bytes.Clone(b[:4])); ok {
			t.Fatal("an entry without its id was taken")
		}
	})
}

// TestIndexedBytes: the record of an id has its messages one after the other.
func TestIndexedBytes(t *testing.T) {
	all := []Indexed{{Seq: 1, Time: -5, LogTime: -5}, {Seq: 70000, Flags: Reply | Broadcast, Time: 1 << 41, LogTime: 1<<41 + 9}}
	var b []byte
	for _, x := range all {
		b = AppendIndexed(b, x)
	}
	r := wire.Reader{B: b}
	for _, want := range all {
		got := Indexed{Seq: r.U32(), Flags: r.Byte(), Time: r.Varint()}
		got.LogTime = got.Time + int64(r.Uvarint())
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if err := r.Done(); err != nil {
		t.Error(err)
	}
}

// TestBlocks: a block has BlockLen messages, and each can be found in it by its number.
func TestBlocks(t *testing.T) {
	for n, want := range map[uint32]uint32{1: 0, BlockLen: 0, BlockLen + 1: 1, 2 * BlockLen: 1, 2*BlockLen + 1: 2, ^uint32(0): (1<<32 - 2) / BlockLen} {
		if got := BlockOf(n); got != want {
			t.Errorf("message %d is in block %d, want %d", n, got, want)
		}
	}
	const seeded, first = 100, BlockLen + 1 // seqs exceed the numbers in the log
	b := binary.AppendUvarint(nil, 300)
	for n := uint32(first); n < first+BlockLen; n++ {
		e := Entry{Seq: seeded + n, Time: int64(n), LogTime: int64(n), ID: []byte{byte(n)}, PrevOwn: seeded + n - 1}
		b = wire.AppendBytes(b, e.Append(nil))
	}
	for n := uint32(first); n < first+BlockLen; n++ {
		var e Entry
		if err := BlockEntry(b, n, seeded+n, &e); err != nil {
			t.Fatal(err)
		}
		if e.Seq != seeded+n || e.Time != int64(n) || !bytes.Equal(e.ID, []byte{byte(n)}) || e.PrevOwn != seeded+n-1 {
			t.Errorf("message %d is %+v", n, e)
		}
	}
	var e Entry
	if err := BlockEntry(b[:len(b)-1], first+BlockLen-1, 1, &e); err == nil {
		t.Error("the last message of a block that is cut short was taken")
	}
	if err := BlockEntry(b[:len(b)-1], first, 1, &e); err != nil {
		t.Errorf("the first message of it: %v", err)
	}
}
