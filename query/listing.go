package query

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/paging"
	"github.com/tidemark/tidemark/query/internal/position"
)

// listing is a call about all channels of a user, which goes to all owners. A call with
// headerPartitions is one part of it: it is about partitions of this node only.
type listing struct {
	partitions int32
	only       []int32 // the partitions that a peer requests; nil = everything
	about      *owners.About
	after      position.After
	size       int
	from       *paging.Key // the end of the previous page; nil = the first page
}

// listRequest is the common part of the requests of these calls.
type listRequest interface {
	GetAfter() []string
	GetPageSize() uint32
	GetPageToken() string
}

// listing validates a request. Page tokens are bound to scope and unreadOnly.
func (s *service) listing(req listRequest, partitions string, user fault.ID, scope string, unreadOnly bool) (l listing, err error) {
	if err := fault.CheckIDs(user); err != nil {
		return l, err
	}
	if req.GetPageSize() > paging.MaxSize {
		return l, fault.Invalid("page_size is %d, the limit is %d", req.GetPageSize(), paging.MaxSize)
	}
	l.size = int(req.GetPageSize())
	if l.size == 0 {
		l.size = paging.DefaultSize
	}
	if l.partitions, err = s.partitions(); err != nil {
		return l, err
	}
	if l.after, err = s.topics.ParseAfter(req.GetAfter(), l.partitions); err != nil {
		return l, err
	}
	if l.only, err = position.ParsePartitions(headerPartitions, partitions, l.partitions); err != nil {
		return l, err
	}
	l.about = owners.User(user.Value, l.after)
	if token := req.GetPageToken(); token != "" {
		now := s.now()
		if l.only != nil {
			now = time.Time{} // the calling node has checked the age by its clock
		}
		from, err := paging.Decode(token, scope, unreadOnly, now)
		if err != nil {
			return l, err
		}
		l.from = &from
	}
	return l, nil
}

// list answers a listing: local reads partitions of this node, remote calls another one, and merge
// merges all pages into one.
func list[Req, Res any](ctx context.Context, s *service, m *Req, l listing, remote remoteCall[Req, Res],
	local func(ctx context.Context, ps []int32) (*Res, error), merge func([]*Res) *Res,
) (*connect.Response[Res], error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	own := owners.Shares{Local: l.only}
	if l.only == nil {
		var err error
		if own, err = s.owners.Shares(ctx, l.partitions, l.about); err != nil {
			return nil, err
		}
	}
	here := s.owners.Groups(own.Local, l.about, l.size)
	if len(own.Remote) > 0 || len(here) > 1 {
		parts, err := gather(ctx, s, m, own.Remote, here, remote, local)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(merge(parts)), nil
	}
	res, err := local(ctx, here[0])
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// gather calls everything concurrently: each other owner for its partitions, by remote with the
// caller's request, and this node for each group of its own, by local. A part that fails fails the
// whole.
func gather[Req, Res any](ctx context.Context, s *service, m *Req, others []owners.Remote, here [][]int32, remote remoteCall[Req, Res],
	local func(context.Context, []int32) (*Res, error),
) ([]*Res, error) {
	parts := make([]*Res, len(others)+len(here))
	g, ctx := guard.WithContext(ctx)
	for i, r := range others {
		g.Go("asking "+r.URL, func() error {
			client, err := s.peers.Client(ctx, r.URL)
			if err != nil {
				return fault.UnavailableFor(err, "%s: %v", position.Some(r.Partitions), err)
			}
			out := connect.NewRequest(m)
			out.Header().Set(headerPartitions, position.JoinPartitions(r.Partitions))
			s.metrics.forwarded.Inc()
			res, err := remote(client, ctx, out)
			if err != nil {
				return s.peers.Failed(ctx, r.URL, position.Some(r.Partitions), err)
			}
			s.peers.Answered(r.URL)
			parts[i] = res.Msg
			return nil
		})
	}
	for i, ps := range here {
		g.Go("reading partitions", func() (err error) {
			parts[len(others)+i], err = local(ctx, ps)
			return err
		})
	}
	return parts, g.Wait()
}
