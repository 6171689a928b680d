package query

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetInbox lists the channels of a user, with totals over all of them. It asks every owner for the first channels of
// its partitions, merges them, and cuts the page. A call with headerPartitions is such a question.
func (s *service) GetInbox(ctx context.Context, req *connect.Request[queryv1.GetInboxRequest]) (*connect.Response[queryv1.GetInboxResponse], error) {
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
	sel := &selection{size: int(m.PageSize), unreadOnly: m.UnreadOnly}
	if sel.size == 0 {
		sel.size = defaultPageSize
	}
	if m.PageToken != "" {
		now := s.now()
		if only != nil {
			now = time.Time{} // the node that asks has judged the age, by its clock
		}
		from, err := decodePageToken(m.PageToken, m.UserId, m.UnreadOnly, now)
		if err != nil {
			return nil, err
		}
		sel.from = &from
	}

	var res *queryv1.GetInboxResponse
	if only != nil {
		res, err = s.localInbox(ctx, m.UserId, only, a, sel)
	} else {
		res, err = s.wholeInbox(ctx, m, n, a, sel)
	}
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// localInbox reads the partitions ps, all of which must be live here.
func (s *service) localInbox(ctx context.Context, userID string, ps []int32, a after, sel *selection) (*queryv1.GetInboxResponse, error) {
	if err := s.wait(ctx, a, ps...); err != nil {
		return nil, err
	}
	res := &queryv1.GetInboxResponse{}
	for _, p := range ps {
		if ctx.Err() != nil {
			return nil, unavailable("the inbox could not be read in time: %v", ctx.Err())
		}
		err := s.read(p, func(part *projections.Partition) {
			sel.take(part, userID)
			res.AsOf = s.topics.asOf(res.AsOf, p, part.Position())
		})
		if err != nil {
			return nil, unavailable("partition %d cannot be read here: %v", p, err)
		}
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

// wholeInbox asks all owners at once.
func (s *service) wholeInbox(ctx context.Context, m *queryv1.GetInboxRequest, n int32, a after, sel *selection) (*queryv1.GetInboxResponse, error) {
	own, err := s.owners(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(own.remote) == 0 {
		return s.localInbox(ctx, m.UserId, own.local, a, sel)
	}
	parts, err := gather(ctx, s, m, own, queryv1connect.QueryServiceClient.GetInbox, func(ctx context.Context) (*queryv1.GetInboxResponse, error) {
		return s.localInbox(ctx, m.UserId, own.local, a, sel)
	})
	if err != nil {
		return nil, err
	}
	return mergeInbox(m, parts, sel.size, s), nil
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

// owners says who answers for which partition.
type owners struct {
	local  []int32
	remote []remoteOwner
}

type remoteOwner struct {
	url        string
	partitions []int32
}

func (s *service) owners(ctx context.Context, n int32) (owners, error) {
	var o owners
	byURL := map[string]int{}
	for p := range n {
		_, notLive := s.node.Live(p)
		if notLive == nil {
			o.local = append(o.local, p)
			continue
		}
		url, err := s.owner(ctx, p, notLive)
		if err != nil {
			return owners{}, err
		}
		i, ok := byURL[url]
		if !ok {
			i = len(o.remote)
			byURL[url] = i
			o.remote = append(o.remote, remoteOwner{url: url})
		}
		o.remote[i].partitions = append(o.remote[i].partitions, p)
	}
	return o, nil
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
