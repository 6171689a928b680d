package query

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetThreads lists the threads that a user follows, unread first, then by newest reply. Like GetInbox it asks every owner
// and merges.
func (s *service) GetThreads(ctx context.Context, req *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	m := req.Msg
	l, err := s.listing(m, req.Header().Get(headerPartitions), id{"user_id", m.UserId}, threadScope(m.UserId), false)
	if err != nil {
		return nil, err
	}
	page := &threadPage{user: m.UserId, size: l.size, from: l.from}
	local := func(ctx context.Context, ps []int32) (*queryv1.GetThreadsResponse, error) {
		return s.localThreads(ctx, ps, l.after, page)
	}
	merge := func(parts []*queryv1.GetThreadsResponse) *queryv1.GetThreadsResponse {
		return mergeThreads(parts, page, s.now())
	}
	return list(ctx, s, m, l, queryv1connect.QueryServiceClient.GetThreads, local, merge)
}

// threadScope is what the page tokens of a user's threads are bound to. No user id has a control character.
func threadScope(userID string) string { return userID + "\x00threads" }

// threadPage cuts a page out of threads. A user follows few enough of them to be sorted.
type threadPage struct {
	user string
	size int
	from *sortKey
}

func (p *threadPage) cut(res *queryv1.GetThreadsResponse, now time.Time) {
	slices.SortFunc(res.Threads, func(a, b *queryv1.ThreadUnread) int { return threadKey(a).compare(threadKey(b)) })
	if p.from != nil {
		res.Threads = slices.DeleteFunc(res.Threads, func(t *queryv1.ThreadUnread) bool { return !p.from.before(threadKey(t)) })
	}
	more := res.NextPageToken != ""
	res.NextPageToken = ""
	if len(res.Threads) > p.size {
		res.Threads, more = res.Threads[:p.size], true
	}
	if more && len(res.Threads) > 0 {
		res.NextPageToken = encodePageToken(threadScope(p.user), false, threadKey(res.Threads[len(res.Threads)-1]), now)
	}
}

// threadKey is where a thread stands in the order.
func threadKey(t *queryv1.ThreadUnread) sortKey {
	k := sortKey{unread: t.Unread > 0, channelID: t.ChannelId + "\x00" + t.ThreadId}
	if t.LastReply != nil {
		k.at = t.LastReply.At.AsTime().UnixMilli()
	}
	return k
}

// localThreads reads the partitions ps, all of which must be live here.
func (s *service) localThreads(ctx context.Context, ps []int32, a after, page *threadPage) (*queryv1.GetThreadsResponse, error) {
	res := &queryv1.GetThreadsResponse{}
	var (
		all sums
		err error
	)
	res.AsOf, err = s.readAll(ctx, ps, a, "the threads", func(part *projections.Partition) {
		// The error that Threads returns is the partition's Err, which read looks at.
		_ = part.Threads(page.user, func(v *projections.ThreadView) bool {
			all.addThread(v.Unread, v.Mentions, v.Muted)
			res.Threads = append(res.Threads, threadUnread(v))
			return true
		})
	})
	if err != nil {
		return nil, err
	}
	page.cut(res, s.now())
	res.Totals = all.totals()
	return res, nil
}

// mergeThreads merges the pages of all owners into one.
func mergeThreads(parts []*queryv1.GetThreadsResponse, page *threadPage, now time.Time) *queryv1.GetThreadsResponse {
	res := &queryv1.GetThreadsResponse{}
	var all sums
	for _, p := range parts {
		res.Threads = append(res.Threads, p.Threads...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		all.addTotals(p.Totals)
		if p.NextPageToken != "" {
			res.NextPageToken = p.NextPageToken // that there is more
		}
	}
	page.cut(res, now)
	res.Totals = all.totals()
	return res
}

// explain begins to explain a channel's number, or that of a thread.
func explain(p *projections.Partition, m *queryv1.ExplainUnreadRequest) (*projections.ExplainWalk, bool) {
	if m.ThreadId != "" {
		return p.BeginExplainThread(m.UserId, m.ChannelId, m.ThreadId)
	}
	return p.BeginExplain(m.UserId, m.ChannelId)
}
