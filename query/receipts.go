package query

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// The lattice of DESIGN §4.5.
const (
	statusSent      = "sent"
	statusDelivered = "delivered"
	statusRead      = "read"
)

// GetReaders says how far each member of a channel has read, as far as others may see it (DESIGN §9).
func (s *service) GetReaders(ctx context.Context, req *connect.Request[queryv1.GetReadersRequest]) (*connect.Response[queryv1.GetReadersResponse], error) {
	m := req.Msg
	if err := checkIDs(id{"channel_id", m.ChannelId}); err != nil {
		return nil, err
	}
	page, err := s.memberPage(req.Header(), m.PageSize, m.PageToken, m.ChannelId+"\x00readers")
	if err != nil {
		return nil, err
	}
	res, err := routed(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) *queryv1.GetReadersResponse {
		v, ok := p.Readers(m.ChannelId, page.from, page.size)
		if !ok {
			return nil
		}
		res := &queryv1.GetReadersResponse{NextPageToken: page.next(v.Next), AsOf: s.topics.asOf(nil, number, p.Position())}
		for i := range v.List {
			x := &v.List[i]
			r := &queryv1.Reader{UserId: x.UserID, MessageId: x.Message.MessageID, Seq: x.Message.Seq}
			if x.Message.Seq > 0 {
				r.At = timestamp(x.At)
			}
			res.Readers = append(res.Readers, r)
		}
		return res
	}, queryv1connect.QueryServiceClient.GetReaders)
	if err != nil {
		return nil, err
	}
	res.Msg.NextPageToken = page.again(res.Msg.NextPageToken)
	return res, nil
}

// GetReceipts says who received and read a message (DESIGN §9). Counts and page are from one reading at one position.
func (s *service) GetReceipts(ctx context.Context, req *connect.Request[queryv1.GetReceiptsRequest]) (*connect.Response[queryv1.GetReceiptsResponse], error) {
	m := req.Msg
	if err := checkIDs(id{"channel_id", m.ChannelId}, id{"message_id", m.MessageId}); err != nil {
		return nil, err
	}
	page, err := s.memberPage(req.Header(), m.PageSize, m.PageToken, m.ChannelId+"\x00receipts\x00"+m.MessageId)
	if err != nil {
		return nil, err
	}
	there := false // the channel; then it is the message that is not
	res, err := routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) rest[queryv1.GetReceiptsResponse] {
		w, ok := p.BeginReceipts(m.ChannelId, m.MessageId, page.from, page.size)
		if !ok {
			_, there = p.Channel(m.ChannelId)
			return nil
		}
		asOf := s.topics.asOf(nil, number, p.Position())
		return func(ctx context.Context) (*queryv1.GetReceiptsResponse, error) {
			v, err := w.End(ctx)
			if err != nil {
				return nil, err
			}
			res := receipts(&v)
			res.NextPageToken, res.AsOf = page.next(v.Next), asOf
			return res, nil
		}
	}, queryv1connect.QueryServiceClient.GetReceipts)
	if there && connect.CodeOf(err) == connect.CodeNotFound {
		return nil, messageNotFound(m.ChannelId, m.MessageId)
	}
	if err != nil {
		return nil, err
	}
	res.Msg.NextPageToken = page.again(res.Msg.NextPageToken)
	return res, nil
}

// receipts is a view as an answer.
func receipts(v *projections.ReceiptsView) *queryv1.GetReceiptsResponse {
	res := &queryv1.GetReceiptsResponse{
		ChannelId: v.ChannelID, MessageId: v.MessageID, Seq: v.Seq, Status: statusSent,
		RecipientCount: v.Recipients, DeliveredCount: v.Delivered, ReadCount: v.Read,
	}
	switch {
	case v.Recipients == 0:
	case v.Read == v.Recipients:
		res.Status = statusRead
	case v.Delivered == v.Recipients:
		res.Status = statusDelivered
	}
	for i := range v.List {
		x := &v.List[i]
		r := &queryv1.Recipient{UserId: x.UserID, Status: statusSent}
		if x.Delivered {
			r.Status = statusDelivered
			if x.DeliveredAt > 0 {
				r.DeliveredAt = timestamp(x.DeliveredAt)
			}
		}
		if x.Read {
			r.Status = statusRead
			if x.ReadAt > 0 {
				r.ReadAt = timestamp(x.ReadAt)
			}
		}
		res.Recipients = append(res.Recipients, r)
	}
	return res
}

// memberPage is a page of a channel's members, who stand in the order in which they first joined: one who joins or leaves
// between two pages moves nobody else.
type memberPage struct {
	scope string // what its tokens are bound to
	now   time.Time
	from  uint32
	size  int
}

// memberPage checks what is asked for. Of a call that was forwarded the node that was asked has judged the age of the
// token, by its clock.
func (s *service) memberPage(h http.Header, size uint32, token, scope string) (*memberPage, error) {
	if size > maxPageSize {
		return nil, invalid("page_size is %d, the limit is %d", size, maxPageSize)
	}
	page := &memberPage{scope: scope, now: s.now(), size: int(size)}
	if page.size == 0 {
		page.size = defaultPageSize
	}
	if token == "" {
		return page, nil
	}
	judged := page.now
	if h.Get(headerHops) != "" {
		judged = time.Time{}
	}
	from, err := decodePageToken(token, scope, false, judged)
	if err != nil {
		return nil, err
	}
	page.from = uint32(from.at) // as next wrote it: the checksum holds
	return page, nil
}

// next is the token of the page that begins with member from, empty if there is none.
func (p *memberPage) next(from uint32) string {
	if from == 0 {
		return ""
	}
	return encodePageToken(p.scope, false, sortKey{at: int64(from), channelID: "-"}, p.now)
}

// again is the token that another node may have made, as one of this node's clock.
func (p *memberPage) again(token string) string {
	from, err := decodePageToken(token, p.scope, false, time.Time{})
	if token == "" || err != nil {
		return token
	}
	return p.next(uint32(from.at))
}
