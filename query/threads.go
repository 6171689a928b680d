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
// and merges; a call with headerPartitions is such a question.
func (s *service) GetThreads(ctx context.Context, req *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	m := req.Msg
	if err := checkIDs(id{"user_id", m.UserId}); err != nil {
		return nil, err
	}
	if m.PageSize > maxPageSize {
		return nil, invalid("page_size is %d, the limit is %d", m.PageSize, maxPageSize)
	}
	n, err := s.partitions()
	if err != nil {
		return nil, err
	}
	a, err := s.topics.parseAfter(m.After, n)
	if err != nil {
		return nil, err
	}
	only, err := restriction(req.Header().Get(headerPartitions), n)
	if err != nil {
		return nil, err
	}
	page := &threadPage{user: m.UserId, size: int(m.PageSize)}
	if page.size == 0 {
		page.size = defaultPageSize
	}
	if m.PageToken != "" {
		now := s.now()
		if only != nil {
			now = time.Time{} // the node that asks has judged the age, by its clock
		}
		from, err := decodePageToken(m.PageToken, threadScope(m.UserId), false, now)
		if err != nil {
			return nil, err
		}
		page.from = &from
	}
	var res *queryv1.GetThreadsResponse
	if only != nil {
		res, err = s.localThreads(ctx, only, a, page)
	} else {
		res, err = s.wholeThreads(ctx, m, n, a, page)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
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
	if err := s.wait(ctx, a, ps...); err != nil {
		return nil, err
	}
	res := &queryv1.GetThreadsResponse{}
	var all sums
	for _, p := range ps {
		if ctx.Err() != nil {
			return nil, unavailable("the threads could not be read in time: %v", ctx.Err())
		}
		err := s.read(p, func(part *projections.Partition) {
			// The error that Threads returns is the partition's Err, which read looks at.
			_ = part.Threads(page.user, func(v *projections.ThreadView) bool {
				all.addThread(v)
				res.Threads = append(res.Threads, threadUnread(v))
				return true
			})
			res.AsOf = s.topics.asOf(res.AsOf, p, part.Position())
		})
		if err != nil {
			return nil, unavailable("partition %d cannot be read here: %v", p, err)
		}
	}
	page.cut(res, s.now())
	res.Totals = all.totals()
	return res, nil
}

// wholeThreads asks all owners at once.
func (s *service) wholeThreads(ctx context.Context, m *queryv1.GetThreadsRequest, n int32, a after, page *threadPage) (*queryv1.GetThreadsResponse, error) {
	own, err := s.owners(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(own.remote) == 0 {
		return s.localThreads(ctx, own.local, a, page)
	}
	parts, err := gather(ctx, s, m, own, queryv1connect.QueryServiceClient.GetThreads, func(ctx context.Context) (*queryv1.GetThreadsResponse, error) {
		return s.localThreads(ctx, own.local, a, page)
	})
	if err != nil {
		return nil, err
	}
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
	page.cut(res, s.now())
	res.Totals = all.totals()
	return res, nil
}

// explain explains a channel's number, or that of a thread.
func explain(p *projections.Partition, m *queryv1.ExplainUnreadRequest) (projections.Explanation, bool) {
	if m.ThreadId != "" {
		return p.ExplainThread(m.UserId, m.ChannelId, m.ThreadId)
	}
	return p.Explain(m.UserId, m.ChannelId)
}
