package query

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// GetReaders returns how far each member of a channel has read, as far as others may see that
// (DESIGN §9).
func (s *service) GetReaders(ctx context.Context, req *connect.Request[queryv1.GetReadersRequest]) (*connect.Response[queryv1.GetReadersResponse], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "channel_id", Value: m.ChannelId}); err != nil {
		return nil, err
	}
	page, err := s.memberPage(req.Header(), m.PageSize, m.PageToken, m.ChannelId+"\x00readers")
	if err != nil {
		return nil, err
	}
	memory := projections.NewReadersMemory(page.size)
	res, err := routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) rest[queryv1.GetReadersResponse] {
		defer p.TimeHold("GetReaders")()
		asOf := s.topics.AsOf(nil, number, p.Position())
		w, ok := p.BeginReaders(m.ChannelId, page.from, memory)
		if !ok {
			return nil
		}
		return func(ctx context.Context) (*queryv1.GetReadersResponse, error) {
			v, err := w.End(ctx)
			if err != nil {
				return nil, err
			}
			res := answer.Readers(&v)
			res.NextPageToken, res.AsOf = page.next(v.Next), asOf
			return res, nil
		}
	}, queryv1connect.QueryServiceClient.GetReaders)
	if err != nil {
		return nil, err
	}
	res.Msg.NextPageToken = page.reissue(res.Msg.NextPageToken)
	return res, nil
}

// GetReceipts returns who has received and who has read a message (DESIGN §9). Counts and page are
// from one reading at one position.
func (s *service) GetReceipts(ctx context.Context, req *connect.Request[queryv1.GetReceiptsRequest]) (*connect.Response[queryv1.GetReceiptsResponse], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "channel_id", Value: m.ChannelId}, fault.ID{Field: "message_id", Value: m.MessageId}); err != nil {
		return nil, err
	}
	page, err := s.memberPage(req.Header(), m.PageSize, m.PageToken, m.ChannelId+"\x00receipts\x00"+m.MessageId)
	if err != nil {
		return nil, err
	}
	memory := projections.NewReceiptsMemory(page.size)
	there := false // whether the channel exists; then the message does not
	res, err := routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) rest[queryv1.GetReceiptsResponse] {
		defer p.TimeHold("GetReceipts")()
		asOf := s.topics.AsOf(nil, number, p.Position())
		w, ok := p.BeginReceipts(m.ChannelId, m.MessageId, page.from, memory)
		if !ok {
			_, there = p.Channel(m.ChannelId)
			return nil
		}
		return func(ctx context.Context) (*queryv1.GetReceiptsResponse, error) {
			v, err := w.End(ctx)
			if err != nil {
				return nil, err
			}
			res := answer.Receipts(&v)
			res.NextPageToken, res.AsOf = page.next(v.Next), asOf
			return res, nil
		}
	}, queryv1connect.QueryServiceClient.GetReceipts)
	if there && connect.CodeOf(err) == connect.CodeNotFound {
		return nil, fault.MessageNotFound(m.ChannelId, m.MessageId)
	}
	if err != nil {
		return nil, err
	}
	res.Msg.NextPageToken = page.reissue(res.Msg.NextPageToken)
	return res, nil
}

// memberPage is a page of a channel's members, ordered by their first join, so that a join or a
// leave between two pages moves no other member.
type memberPage struct {
	scope string // the scope of its tokens
	now   time.Time
	from  uint32
	size  int
}

// memberPage validates the request. For a forwarded call, the first node has checked the age of the
// token by its clock.
func (s *service) memberPage(h http.Header, size uint32, token, scope string) (*memberPage, error) {
	if size > paging.MaxSize {
		return nil, fault.Invalid("page_size is %d, the limit is %d", size, paging.MaxSize)
	}
	page := &memberPage{scope: scope, now: s.now(), size: int(size)}
	if page.size == 0 {
		page.size = paging.DefaultSize
	}
	if token == "" {
		return page, nil
	}
	judged := page.now
	if h.Get(headerHops) != "" {
		judged = time.Time{}
	}
	from, err := paging.Decode(token, scope, false, judged)
	if err != nil {
		return nil, err
	}
	page.from = uint32(from.At) // next has written it, and the checksum was right
	return page, nil
}

// next returns the token of the page that begins with member from, or "".
func (p *memberPage) next(from uint32) string {
	if from == 0 {
		return ""
	}
	return paging.Encode(p.scope, false, paging.Key{At: int64(from), ID: "-"}, p.now)
}

// reissue re-encodes a page token with this node's clock, as another node may have created it.
func (p *memberPage) reissue(token string) string {
	from, err := paging.Decode(token, p.scope, false, time.Time{})
	if token == "" || err != nil {
		return token
	}
	return p.next(uint32(from.At))
}
