package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
)

func drawEntries(t *rapid.T) []projections.InboxEntry {
	entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) projections.InboxEntry {
		return projections.InboxEntry{
			Unread:   rapid.Uint32Range(0, 2).Draw(t, "unread"),
			Mentions: rapid.Uint32Range(0, 1).Draw(t, "mentions"),
			Muted:    rapid.Bool().Draw(t, "muted"),
			LatestAt: rapid.Int64Range(0, 5).Draw(t, "at"),
		}
	}), 0, 60).Draw(t, "entries")
	for i := range entries {
		entries[i].ChannelID = fmt.Appendf(nil, "c%02d", i)
	}
	return rapid.Permutation(entries).Draw(t, "order")
}

func keysInOrder(entries []projections.InboxEntry, unreadOnly bool) []sortKey {
	var keys []sortKey
	for _, e := range entries {
		if !unreadOnly || e.Unread > 0 {
			keys = append(keys, sortKey{e.Unread > 0, e.LatestAt, string(e.ChannelID)})
		}
	}
	// Written differently from before, on purpose.
	slices.SortFunc(keys, func(a, b sortKey) int {
		rank := func(k sortKey) int {
			if k.unread {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.at, a.at), cmp.Compare(a.channelID, b.channelID))
	})
	return keys
}

// Paging through entries that do not change lists each once, in order, whatever the sizes of the pages.
func TestSelectionPagesThroughEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		unreadOnly := rapid.Bool().Draw(t, "unread only")
		want := keysInOrder(entries, unreadOnly)
		var got []sortKey
		var from *sortKey
		for pages := 0; ; pages++ {
			if pages > len(entries)+1 {
				t.Fatal("paging does not end")
			}
			sel := &selection{size: rapid.IntRange(1, 7).Draw(t, "size"), unreadOnly: unreadOnly, from: from}
			for i := range entries {
				sel.offer(&entries[i])
			}
			page := sel.page()
			for _, e := range page {
				got = append(got, e.key)
			}
			if sel.more != (len(got) < len(want)) {
				t.Fatalf("more = %v after %d of %d", sel.more, len(got), len(want))
			}
			if !sel.more {
				break
			}
			last := page[len(page)-1].key
			from = &last
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Whoever owns which channels, the merged page is that of one owner of everything.
func TestMergeEqualsOneOwner(t *testing.T) {
	s := &service{topics: testTopics, now: func() time.Time { return noon }}
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		size := rapid.IntRange(1, 10).Draw(t, "size")
		parts := make([]*queryv1.GetInboxResponse, nodes)
		sels := make([]*selection, nodes)
		for i := range sels {
			sels[i] = &selection{size: size}
		}
		whole := &selection{size: size}
		for i := range entries {
			e := &entries[i]
			for _, sel := range []*selection{whole, sels[rapid.IntRange(0, nodes-1).Draw(t, "node")]} {
				sel.sums.add(e.Unread, e.Mentions, e.Muted)
				sel.offer(e)
			}
		}
		answer := func(sel *selection) *queryv1.GetInboxResponse {
			r := &queryv1.GetInboxResponse{Totals: sel.sums.totals()}
			for _, e := range sel.page() {
				c := &queryv1.ChannelUnread{ChannelId: e.key.channelID}
				if e.key.unread {
					c.Unread = 1
				}
				if e.key.at > 0 {
					c.Latest = &queryv1.Latest{At: timestamp(e.key.at)}
				}
				r.Channels = append(r.Channels, c)
			}
			if sel.more {
				r.NextPageToken = encodePageToken("u", false, sel.page()[len(r.Channels)-1].key, noon)
			}
			return r
		}
		for i := range parts {
			parts[i] = answer(sels[i])
		}
		got := mergeInbox(&queryv1.GetInboxRequest{UserId: "u"}, parts, size, s)
		if want := answer(whole); !proto.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

func TestTotals(t *testing.T) {
	var s sums
	s.add(3, 1, false)
	s.add(5, 5, true) // muted: in no total
	s.add(0, 0, false)
	s.add(2, 0, false)
	if got, want := s.totals(), (&queryv1.Totals{Unread: 5, Mentions: 1, UnreadChannels: 2}); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	s.add(math.MaxUint32, math.MaxUint32, false)
	if got := s.totals(); got.Unread != math.MaxUint32 || got.Mentions != math.MaxUint32 {
		t.Errorf("totals wrapped around: %v", got)
	}
}
