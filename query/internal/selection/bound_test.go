package selection

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
)

// TestNth: the n-th element in descending order, for any original order.
func TestNth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.Int64Range(0, 20), 1, 60).Draw(t, "keys")
		n := rapid.IntRange(0, len(keys)-1).Draw(t, "n")
		sorted := slices.Clone(keys)
		slices.Sort(sorted)
		slices.Reverse(sorted)
		if got := nth(slices.Clone(keys), n); got != sorted[n] {
			t.Fatalf("%d of %v is %d, want %d", n, keys, got, sorted[n])
		}
	})
}

// TestBoundedPages: a page that is bounded by earlier lists equals the page without a bound,
// whatever has changed in them since, or it reports that it is short.
func TestBoundedPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []projections.ThreadEntry {
			list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) projections.ThreadEntry {
				return projections.ThreadEntry{
					Unread:    rapid.Uint32Range(0, 1).Draw(t, "unread"),
					RepliedAt: rapid.Int64Range(0, 8).Draw(t, "at"),
				}
			}), 0, 40).Draw(t, label)
			for i := range list {
				list[i].ChannelID, list[i].ThreadID = []byte("c"), fmt.Appendf(nil, "t%02d", i)
			}
			return list
		}
		before := draw("threads")
		now, changed := before, rapid.Bool().Draw(t, "changed")
		if changed {
			now = draw("threads now")
		}
		size := rapid.IntRange(1, 12).Draw(t, "size")
		var from *paging.Key
		if rapid.Bool().Draw(t, "later page") {
			from = &paging.Key{
				Unread: rapid.Bool().Draw(t, "from unread"), At: rapid.Int64Range(0, 8).Draw(t, "from at"),
				ID: paging.ThreadID("c", fmt.Sprintf("t%02d", rapid.IntRange(0, 39).Draw(t, "from"))),
			}
		}
		free, bounded := &Selection{Size: size, From: from}, &Selection{Size: size, From: from}
		var keys []int64
		for _, e := range before {
			if key := orderOf(e.Unread > 0, e.RepliedAt); from == nil || key < orderOf(from.Unread, from.At) {
				keys = append(keys, key)
			}
		}
		bounded.boundBy(keys)
		for i := range now {
			free.OfferThread(&now[i])
			bounded.OfferThread(&now[i])
		}
		if bounded.Short() {
			if !changed {
				t.Fatal("the page is short, though nothing has changed")
			}
			return
		}
		want, got := keysOf(free.Page()), keysOf(bounded.Page())
		if !slices.Equal(got, want) || free.More != bounded.More {
			t.Fatalf("got %v and more %v, want %v and more %v", got, bounded.More, want, free.More)
		}
	})
}

func keysOf(page []Entry) (keys []paging.Key) {
	for _, e := range page {
		keys = append(keys, e.Key)
	}
	return keys
}
