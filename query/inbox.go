package query

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetInbox lists the channels of a user, with totals over all of them. It asks every owner for the first channels of
// its partitions, merges them, and cuts the page.
func (s *service) GetInbox(ctx context.Context, req *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error) {
	m := req.Msg
	l, err := s.listing(m, req.Header().Get(headerPartitions), id{"user_id", m.UserId}, m.UserId, m.UnreadOnly)
	if err != nil {
		return nil, err
	}
	local := func(ctx context.Context, ps []int32) (*queryv1.GetInboxResponse, error) {
		return s.localInbox(ctx, m.UserId, ps, l.after, &selection{size: l.size, from: l.from, unreadOnly: m.UnreadOnly})
	}
	merge := func(parts []*queryv1.GetInboxResponse) *queryv1.GetInboxResponse {
		return mergeInbox(m, parts, l.size, s)
	}
	return list(ctx, s, m, l, queryv1connect.QueryServiceClient.GetInbox, local, merge)
}

// localInbox reads the partitions ps, all of which must be live here.
func (s *service) localInbox(ctx context.Context, userID string, ps []int32, a after, sel *selection) (*queryv1.GetInboxResponse, error) {
	res := &queryv1.GetInboxResponse{}
	var err error
	if res.AsOf, err = s.readAll(ctx, ps, a, "the inbox", func(p *projections.Partition) { sel.take(p, userID) }); err != nil {
		return nil, err
	}
	page := sel.page()
	for _, e := range page {
		res.Channels = append(res.Channels, e.view)
	}
	if sel.more && len(page) > 0 {
		res.NextPageToken = encodePageToken(userID, sel.unreadOnly, page[len(page)-1].key, s.now())
	}
	res.Totals = sel.sums.totals()
	return res, nil
}

// mergeInbox merges the pages of all owners into one. Each part's page is at least as long as its share of the result,
// so the result is the page that one owner of everything would have given.
func mergeInbox(m *queryv1.GetInboxRequest, parts []*queryv1.GetInboxResponse, size int, s *service) *queryv1.GetInboxResponse {
	res := &queryv1.GetInboxResponse{}
	var all sums
	more := false
	for _, p := range parts {
		res.Channels = append(res.Channels, p.Channels...)
		res.AsOf = append(res.AsOf, p.AsOf...)
		all.addTotals(p.Totals)
		more = more || p.NextPageToken != ""
	}
	slices.SortFunc(res.Channels, func(a, b *queryv1.ChannelUnread) int { return keyOf(a).compare(keyOf(b)) })
	if len(res.Channels) > size {
		res.Channels, more = res.Channels[:size], true
	}
	if more && len(res.Channels) > 0 {
		res.NextPageToken = encodePageToken(m.UserId, m.UnreadOnly, keyOf(res.Channels[len(res.Channels)-1]), s.now())
	}
	res.Totals = all.totals()
	return res
}

func joinPartitions(ps []int32) string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(p)))
	}
	return b.String()
}

// restriction parses headerPartitions; nil if there is none.
func restriction(header string, n int32) ([]int32, error) {
	if header == "" {
		return nil, nil
	}
	var ps []int32
	for f := range strings.SplitSeq(header, ",") {
		p, err := strconv.ParseUint(f, 10, 31)
		if err != nil || int32(p) >= n || len(ps) > 0 && int32(p) <= ps[len(ps)-1] {
			return nil, invalid("header %s is %.100q, want ascending partitions below %d", headerPartitions, header, n)
		}
		ps = append(ps, int32(p))
	}
	return ps, nil
}
