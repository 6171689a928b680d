package projections

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestSortAdvances: packed keys give the order of rank, also where they do not fit and the entries themselves are compared.
func TestSortAdvances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Partition{}
		blocks := rapid.SampledFrom([]uint32{3, 1 << sortBlockBits, MaxSeq / receiptBlock}).Draw(t, "blocks")
		pages := rapid.SampledFrom([]uint32{2, 1 << sortPageBits, 1 << 20}).Draw(t, "pages")
		threads := rapid.SampledFrom([]uint32{0, 0, 2}).Draw(t, "threads")
		one := rapid.Custom(func(t *rapid.T) advance {
			return advance{
				seq:    rapid.Uint32Range(0, blocks-1).Draw(t, "block")*receiptBlock + rapid.Uint32Range(1, receiptBlock).Draw(t, "seq"),
				ord:    rapid.Uint32Range(0, pages-1).Draw(t, "page")*pageLen + rapid.Uint32Range(0, pageLen-1).Draw(t, "ord"),
				thread: rapid.Uint32Range(0, threads).Draw(t, "thread"),
				at:     rapid.Int64Range(0, 5).Draw(t, "at"),
				kind:   uint8(rapid.IntRange(entryRead, entryDeliveredTo).Draw(t, "kind")),
			}
		})
		for range 2 { // the memory of the first list is used again
			list := rapid.SliceOfN(one, 0, 60).Draw(t, "list")
			list = append(list, list...) // what is equal is kept
			want := slices.Clone(list)
			slices.SortStableFunc(want, rank)
			if got := p.sortAdvances(slices.Clone(list)); !slices.Equal(got, want) {
				t.Fatalf("sorted\n%+v\nwant\n%+v", got, want)
			}
		}
	})
}
