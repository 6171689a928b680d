package history

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections/internal/wire"
)

// drawBlock draws a block of messages as a trimmed block has them.
func drawBlock(t *rapid.T) (list [BlockLen]Entry) {
	first := rapid.Uint32Range(1, 1<<31).Draw(t, "first")
	at := rapid.Int64Range(-1<<50, 1<<50).Draw(t, "time")
	ahead := rapid.SampledFrom([]int64{0, 1, 1000, 1 << 45}).Draw(t, "ahead")
	flags := rapid.SampledFrom([]uint8{0, Silent, 0xff &^ Grew}).Draw(t, "flags")
	for i := range list {
		e := &list[i]
		*e = Entry{Seq: first + uint32(i), Flags: rapid.Uint8().Draw(t, "of it") & flags, Time: at, LogTime: at + ahead, Trimmed: true}
		before := func(label string) uint32 { return rapid.Uint32Range(0, e.Seq-1).Draw(t, label) }
		e.PrevOwn = before("previous own")
		if e.Flags&Reply != 0 {
			e.PrevIn = before("previous in thread")
			if e.Flags&Silent != 0 {
				e.Thread = []byte(rapid.StringN(1, 20, 255).Draw(t, "thread"))
			} else {
				e.First = rapid.Uint32Range(0, e.Seq).Draw(t, "first reply")
			}
		}
		if e.Flags&Contrary != 0 {
			e.ReadBefore = before("read before")
			if e.Flags&Reply != 0 {
				e.ReadBeforeIn = before("read before in thread")
			}
		}
	}
	return list
}

// TestTrimmedBytes: a trimmed block has all that is kept of its messages, and nothing else. Each
// message can be decoded alone. A block that is cut short is refused.
func TestTrimmedBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawBlock(t)
		full := list
		for i := range full { // what is left out
			full[i].ID, full[i].Sender, full[i].Preview, full[i].Users = []byte("id"), []byte("sender"), []byte("text"), []byte("users")
			full[i].Offset, full[i].Trimmed = 7, false
			if i < BlockLen-1 { // the last message's times stand for all
				full[i].Time -= int64(BlockLen - i)
				full[i].LogTime -= int64(2 * (BlockLen - i))
			}
			full[i].Flags |= Grew
		}
		b := AppendTrimmed(nil, &full)
		if !IsTrimmed(b) {
			t.Fatal("the block is not trimmed")
		}
		var got [BlockLen]Entry
		if err := DecodeTrimmed(b, list[0].Seq, BlockLen, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, list) {
			t.Fatalf("got  %+v\nwant %+v", got, list)
		}
		for i := range list {
			var one Entry
			n := uint32(5*BlockLen + i + 1)
			if err := BlockEntry(b, n, list[i].Seq, &one); err != nil || !reflect.DeepEqual(one, list[i]) {
				t.Fatalf("message %d: %v, got %+v, want %+v", i, err, one, list[i])
			}
		}
		if err := DecodeTrimmed(b[:len(b)-1], list[0].Seq, BlockLen, &got); err == nil {
			t.Fatal("a block that is cut short was taken")
		}
		if err := DecodeTrimmed(append(b, 0), list[0].Seq, BlockLen, &got); err == nil {
			t.Fatal("a block that is too long was taken")
		}
	})
}

// TestTrimmedExample: the bytes of one block, as docs/formats.md describes them.
func TestTrimmedExample(t *testing.T) {
	var list [BlockLen]Entry
	for i := range list {
		list[i] = Entry{Seq: 17 + uint32(i), Time: 1000 + int64(i), LogTime: 1005 + int64(i)}
	}
	list[2].PrevOwn = 18
	list[3].Flags, list[3].First, list[3].PrevIn = Reply, 18, 0
	got := fmt.Sprintf("%x", AppendTrimmed(nil, &list))
	// Marker; the last message's time, 1015, and how much later its log time is; widths 1 and 2; a
	// one for the previous message of number 2 and a flag 2 for number 3, 48 bits in all; then the
	// reply's two distances.
	if want := "0000" + "ee0f" + "05" + "0102" + "040080000000" + "0200"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOtherBlocksAreNotTrimmed: no block of whole messages looks like a trimmed one.
func TestOtherBlocksAreNotTrimmed(t *testing.T) {
	e := Entry{Seq: 1}
	if b := wire.AppendBytes([]byte{0}, e.Append(nil)); IsTrimmed(b) {
		t.Errorf("%x looks trimmed", b)
	}
}

// TestWithout: an index record loses the entry of one message, and nothing if it has none.
func TestWithout(t *testing.T) {
	a, b := Indexed{Seq: 1, Time: 5, LogTime: 6}, Indexed{Seq: 9, Flags: Reply, Time: 7, LogTime: 7}
	both := AppendIndexed(AppendIndexed(nil, a), b)
	for seq, want := range map[uint32][]byte{1: AppendIndexed(nil, b), 9: AppendIndexed(nil, a), 3: both} {
		if got, err := Without(both, seq); err != nil || string(got) != string(want) {
			t.Errorf("without %d: %x, %v, want %x", seq, got, err, want)
		}
	}
	if rest, err := Without(AppendIndexed(nil, a), 1); err != nil || len(rest) != 0 {
		t.Errorf("%x, %v", rest, err)
	}
	if _, err := Without(both[:len(both)-1], 1); err == nil {
		t.Error("a record that is cut short was taken")
	}
}
