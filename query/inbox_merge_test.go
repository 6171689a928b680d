package query

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/selection"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
)

func drawEntries(t *rapid.T) []projections.InboxEntry {
	entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) projections.InboxEntry {
		return projections.InboxEntry{
			Unread:   rapid.Uint32Range(0, 2).Draw(t, "unread"),
			Mentions: rapid.Uint32Range(0, 1).Draw(t, "mentions"),
			Standing: rapid.SampledFrom([]*projections.Standing{
				nil, nil, {Levels: events.Levels{Level: events.LevelNone}}, {Archived: true, OwnLabels: []string{"a"}}, {ChannelLabels: []string{"a", "b"}},
			}).Draw(t, "standing"),
			LatestAt: rapid.Int64Range(0, 5).Draw(t, "at"),
		}
	}), 0, 60).Draw(t, "entries")
	for i := range entries {
		entries[i].ChannelID = fmt.Appendf(nil, "c%02d", i)
	}
	return rapid.Permutation(entries).Draw(t, "order")
}

// However the channels are divided among owners, the merged page equals the page of one owner of
// everything.
func TestMergeEqualsOneOwner(t *testing.T) {
	s := &service{topics: testTopics, now: func() time.Time { return noon }}
	rapid.Check(t, func(t *rapid.T) {
		entries := drawEntries(t)
		nodes := rapid.IntRange(1, 4).Draw(t, "nodes")
		size := rapid.IntRange(1, 10).Draw(t, "size")
		parts := make([]*queryv1.GetInboxResponse, nodes)
		sels := make([]*selection.Pages, nodes)
		for i := range sels {
			sels[i] = &selection.Pages{Inbox: &selection.Selection{Size: size}}
		}
		whole := &selection.Pages{Inbox: &selection.Selection{Size: size}}
		for i := range entries {
			e := &entries[i]
			for _, sel := range []*selection.Pages{whole, sels[rapid.IntRange(0, nodes-1).Draw(t, "node")]} {
				sel.Tally.AddChannel(totals.PartOf(e.Unread, e.Mentions, e.Standing, 0), e.Standing.Labels(), 1)
				sel.Inbox.Offer(e)
			}
		}
		answer := func(sel *selection.Pages) *queryv1.GetInboxResponse {
			r := &queryv1.GetInboxResponse{Totals: sel.Tally.All.Totals(), TotalsByLabel: sel.Tally.ByLabel()}
			for _, e := range sel.Inbox.Page() {
				c := &queryv1.ChannelUnread{ChannelId: e.Key.ID}
				if e.Key.Unread {
					c.Unread = 1
				}
				if e.Key.At > 0 {
					c.Latest = &queryv1.Latest{At: answer.Timestamp(e.Key.At)}
				}
				r.Channels = append(r.Channels, c)
			}
			if sel.Inbox.More {
				r.NextPageToken = paging.Encode("u", false, sel.Inbox.Page()[len(r.Channels)-1].Key, noon)
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
