package query

import (
	"context"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/selection"
	"github.com/tidemark/tidemark/query/internal/totals"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetThreads lists the threads that a user follows, unread first, then by newest reply: those of
// the panel, or of any age. Like GetInbox it calls every owner and merges.
func (s *service) GetThreads(ctx context.Context, req *connect.Request[queryv1.GetThreadsRequest]) (*connect.Response[queryv1.GetThreadsResponse], error) {
	m, now, err := evaluated(s, req.Msg)
	if err != nil {
		return nil, err
	}
	l, err := s.listing(m, req.Header().Get(headerPartitions), fault.ID{Field: "user_id", Value: m.UserId}, paging.ThreadScope(m.UserId, m.AnyAge), false)
	if err != nil {
		return nil, err
	}
	page := &threadPage{user: m.UserId, anyAge: m.AnyAge, size: l.size, from: l.from, evaluatedAt: now}
	local := func(ctx context.Context, ps []int32) (*queryv1.GetThreadsResponse, error) {
		return s.localThreads(ctx, ps, l.after, page)
	}
	merge := func(parts []*queryv1.GetThreadsResponse) *queryv1.GetThreadsResponse {
		return mergeThreads(parts, page, s.now())
	}
	return list(ctx, s, m, l, queryv1connect.QueryServiceClient.GetThreads, local, merge)
}

// threadPage selects a page from those of several owners.
type threadPage struct {
	user   string
	anyAge bool // include threads that are too old to be listed
	size   int
	from   *paging.Key

	evaluatedAt int64 // Unix milliseconds
}

func (p *threadPage) cut(res *queryv1.GetThreadsResponse, now time.Time) {
	slices.SortFunc(res.Threads, answer.CompareThreads)
	if p.from != nil {
		res.Threads = slices.DeleteFunc(res.Threads, func(t *queryv1.ThreadUnread) bool { return !p.from.Before(answer.ThreadKey(t)) })
	}
	more := res.NextPageToken != ""
	res.NextPageToken = ""
	if len(res.Threads) > p.size {
		res.Threads, more = res.Threads[:p.size], true
	}
	if more && len(res.Threads) > 0 {
		res.NextPageToken = paging.Encode(paging.ThreadScope(p.user, p.anyAge), false, answer.ThreadKey(res.Threads[len(res.Threads)-1]), now)
	}
}

// localThreads reads the partitions ps, all of which must be live here.
func (s *service) localThreads(ctx context.Context, ps []int32, a position.After, page *threadPage) (*queryv1.GetThreadsResponse, error) {
	w := &sweep{call: "GetThreads", what: "the threads", Pages: selection.Pages{
		User: page.user, Now: page.evaluatedAt, Threads: &selection.Selection{Size: page.size, From: page.from, AnyAge: page.anyAge},
	}}
	asOf, err := s.sweep(ctx, ps, a, w)
	if err != nil {
		return nil, err
	}
	res := &queryv1.GetThreadsResponse{
		AsOf: asOf, Totals: w.Tally.All.Totals(), Threads: threadsOf(w.Threads, w.Now), EvaluatedAt: answer.Timestamp(w.Now),
	}
	if n := len(res.Threads); w.Threads.More && n > 0 {
		res.NextPageToken = paging.Encode(paging.ThreadScope(page.user, page.anyAge), false, answer.ThreadKey(res.Threads[n-1]), s.now())
	}
	w.Memory.Free()
	return res, nil
}

// threadsOf returns the page of a selection of threads.
func threadsOf(sel *selection.Selection, now int64) []*queryv1.ThreadUnread {
	page := sel.Page()
	if len(page) == 0 {
		return nil
	}
	out, answers := make([]*queryv1.ThreadUnread, 0, len(page)), answer.NewThreads(len(page))
	for i := range page {
		out = append(out, answers.Thread(page[i].Thread, page[i].StandingOf(), now))
	}
	return out
}

// mergeThreads merges the pages of all owners into one.
func mergeThreads(parts []*queryv1.GetThreadsResponse, page *threadPage, now time.Time) *queryv1.GetThreadsResponse {
	res := &queryv1.GetThreadsResponse{EvaluatedAt: answer.Timestamp(page.evaluatedAt)}
	var all totals.Sums
	for _, p := range parts {
		res.Threads = append(res.Threads, p.Threads...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		all.AddTotals(p.Totals)
		if p.NextPageToken != "" {
			res.NextPageToken = p.NextPageToken // states that there is more
		}
	}
	page.cut(res, now)
	res.Totals = all.Totals()
	return res
}

// explain begins the explanation of a channel's count, or of a thread's.
func explain(p *projections.Partition, m *queryv1.ExplainUnreadRequest) (*projections.ExplainWalk, bool) {
	if m.ThreadId != "" {
		return p.BeginExplainThread(m.UserId, m.ChannelId, m.ThreadId)
	}
	return p.BeginExplain(m.UserId, m.ChannelId)
}
