package selection

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/paging"
)

func drawEntries(t *rapid.T) []projections.InboxEntry {
	entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) projections.InboxEntry {
		return projections.InboxEntry{
			Unread:   rapid.Uint32Range(0, 2).Draw(t, "unread"),
			Mentions: rapid.Uint32Range(0, 1).Draw(t, "mentions"),
			LatestAt: rapid.Int64Range(0, 5).Draw(t, "at"),
		}
	}), 0, 60).Draw(t, "entries")
	for i := range entries {
		entries[i].ChannelID = fmt.Appendf(nil, "c%02d", i)
	}
	return rapid.Permutation(entries).Draw(t, "order")
}

func keysInOrder(entries []projections.InboxEntry, unreadOnly bool) []paging.Key {
	var keys []paging.Key
	for _, e := range entries {
		if !unreadOnly || e.Unread > 0 {
			keys = append(keys, paging.Key{Unread: e.Unread > 0, At: e.LatestAt, ID: string(e.ChannelID)})
		}
	}
	// This comparison is deliberately another one than the tested code's.
	slices.SortFunc(keys, func(a, b paging.Key) int {
		rank := func(k paging.Key) int {
			if k.Unread {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID))
	})
	return keys
}

// Paging through entries that do not change lists each once, in order, whatever the sizes of the
// pages.
func TestSelectionPagesThroughEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		unreadOnly := rapid.Bool().Draw(t, "unread only")
		want := keysInOrder(entries, unreadOnly)
		var got []paging.Key
		var from *paging.Key
		for pages := 0; ; pages++ {
			if pages > len(entries)+1 {
				t.Fatal("paging does not end")
			}
			sel := &Selection{Size: rapid.IntRange(1, 7).Draw(t, "size"), Filter: Filter{UnreadOnly: unreadOnly}, From: from}
			for i := range entries {
				sel.Offer(&entries[i])
			}
			page := sel.Page()
			for _, e := range page {
				got = append(got, e.Key)
			}
			if sel.More != (len(got) < len(want)) {
				t.Fatalf("more = %v after %d of %d", sel.More, len(got), len(want))
			}
			if !sel.More {
				break
			}
			last := page[len(page)-1].Key
			from = &last
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestWhatWasToldCostsNothing: on a later page, entries of earlier pages are skipped before an id
// is copied, because the lock of a partition is held.
func TestWhatWasToldCostsNothing(t *testing.T) {
	s := &Selection{Size: 10, From: &paging.Key{Unread: true, At: 5, ID: "m"}}
	channel := projections.InboxEntry{ChannelID: []byte("some channel of a long name"), Unread: 1, LatestAt: 6}
	thread := projections.ThreadEntry{ChannelID: channel.ChannelID, ThreadID: []byte("some thread"), Unread: 1, RepliedAt: 6}
	if allocs := testing.AllocsPerRun(100, func() {
		s.Offer(&channel)
		s.OfferThread(&thread)
	}); allocs > 0 || len(s.Kept) > 0 {
		t.Errorf("%v allocations, %d kept", allocs, len(s.Kept))
	}
	channel.LatestAt, thread.RepliedAt = 5, 5
	s.Offer(&channel)
	s.OfferThread(&thread)
	if channel.LatestAt, channel.Unread = 9, 0; len(s.Kept) != 2 {
		t.Errorf("%d of two that come after the page before are kept", len(s.Kept))
	}
	if s.Offer(&channel); len(s.Kept) != 3 {
		t.Error("what has nothing unread comes after what has")
	}
}
