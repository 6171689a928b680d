package receipts

import (
	"slices"
	"testing"

	"github.com/tidemark/tidemark/projections/internal/keys"
	"pgregory.net/rapid"
)

// TestSortAdvances: packed keys give the order of rank, even where they do not fit and the entries
// themselves are compared.
func TestSortAdvances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Sorter{}
		blocks := rapid.SampledFrom([]uint32{3, 1 << sortBlockBits, (1<<32 - 2) / BlockLen}).Draw(t, "blocks")
		pages := rapid.SampledFrom([]uint32{2, 1 << sortPageBits, 1 << 20}).Draw(t, "pages")
		threads := rapid.SampledFrom([]uint32{0, 0, 2}).Draw(t, "threads")
		one := rapid.Custom(func(t *rapid.T) Entry {
			return Entry{
				Seq:    rapid.Uint32Range(0, blocks-1).Draw(t, "block")*BlockLen + rapid.Uint32Range(1, BlockLen).Draw(t, "seq"),
				Ord:    rapid.Uint32Range(0, pages-1).Draw(t, "page")*keys.PageLen + rapid.Uint32Range(0, keys.PageLen-1).Draw(t, "ord"),
				Thread: rapid.Uint32Range(0, threads).Draw(t, "thread"),
				At:     rapid.Int64Range(0, 5).Draw(t, "at"),
				Kind:   uint8(rapid.IntRange(Read, DeliveredTo).Draw(t, "kind")),
			}
		})
		for range 2 { // reuses the memory of the first list
			list := rapid.SliceOfN(one, 0, 60).Draw(t, "list")
			list = append(list, list...) // equal entries are kept
			want := slices.Clone(list)
			slices.SortStableFunc(want, rank)
			if got := p.Sort(slices.Clone(list)); !slices.Equal(got, want) {
				t.Fatalf("sorted\n%+v\nwant\n%+v", got, want)
			}
		}
	})
}
