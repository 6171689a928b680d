package arena

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOrder: numbers come in the order of their ids, whatever the ids have in common.
func TestOrder(t *testing.T) {
	var o Order
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "prefix")
		rest := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 12), 0, 40).Draw(t, "ids")
		slices.SortFunc(rest, bytes.Compare)
		rest = slices.CompactFunc(rest, bytes.Equal) // no two channels have one id
		var ids [][]byte
		for _, i := range rapid.Permutation(rest).Draw(t, "order") {
			ids = append(ids, append(bytes.Clone(prefix), i...))
		}
		got := [][]byte{}
		for _, i := range o.Of(len(ids), func(i uint32) []byte { return ids[i] }) {
			got = append(got, ids[i])
		}
		if !slices.IsSortedFunc(got, bytes.Compare) || len(got) != len(ids) {
			t.Fatalf("%q", got)
		}
		var numbers []uint32
		for i := range ids {
			numbers = append(numbers, uint32(i))
		}
		for i, n := range o.Sort(nil, numbers, func(n uint32) []byte { return ids[n] }) {
			if !bytes.Equal(ids[n], got[i]) {
				t.Fatalf("Sort returns %q as number %d, Of %q", ids[n], i, got[i])
			}
		}
		if slices.SortFunc(ids, bytes.Compare); len(ids) > 0 && !slices.EqualFunc(got, ids, bytes.Equal) {
			t.Fatalf("%q instead of %q", got, ids)
		}
	})
}

// TestTrimmed: a list that was long gives its memory back once it is short.
func TestTrimmed(t *testing.T) {
	var o Order
	id := func(i uint32) []byte { return []byte{byte(i >> 8), byte(i)} }
	for n, keeps := range map[int]bool{10_000: true, 3_000: true, 100: false} {
		o.Of(10_000, id)
		most := o.HeapBytes()
		o.Of(n, id)
		if o.Trim(); (o.HeapBytes() == most) != keeps || !keeps && o.HeapBytes() != 0 {
			t.Errorf("%d of 10,000: %d bytes of %d are kept", n, o.HeapBytes(), most)
		}
	}
	if Trimmed(make([]int, 1, 1000)) == nil {
		t.Error("a short list is given back")
	}
}
