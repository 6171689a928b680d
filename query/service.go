package query

import (
	"context"
	"log/slog"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// service implements QueryService.
type service struct {
	node      Node
	topics    topicNames
	self      string
	peers     *peers
	watches   *watchLimit // streams of clients
	relays    *watchLimit // streams of other nodes, for their clients
	stopping  context.Context
	heartbeat time.Duration
	// sendTimeout bounds how long a client may leave one message of a stream unread before the stream is ended.
	sendTimeout time.Duration
	now         func() time.Time
	log         *slog.Logger
	metrics     *metrics
}

var _ queryv1connect.QueryServiceHandler = (*service)(nil)

func newService(c Config, m *metrics) *service {
	return &service{
		node: c.Node, topics: c.Topics, self: c.Self, peers: newPeers(c.Transport),
		watches:   newWatchLimit(c.MaxWatches, c.MaxWatchesPerUser, m.watches),
		relays:    newWatchLimit(relayFactor*c.MaxWatches, relayFactor*c.MaxWatchesPerUser, m.relays),
		stopping:  c.Stopping,
		heartbeat: c.HeartbeatEvery, sendTimeout: c.sendTimeout, now: c.Now, log: c.Logger, metrics: m,
	}
}

// GetUnread answers with what one user sees of one channel.
func (s *service) GetUnread(ctx context.Context, req *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	m := req.Msg
	if err := checkIDs(id{"user_id", m.UserId}, id{"channel_id", m.ChannelId}); err != nil {
		return nil, err
	}
	return routed(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) *queryv1.ChannelUnread {
		v, ok := p.View(m.UserId, m.ChannelId)
		if !ok {
			return nil
		}
		c := channelUnread(&v)
		c.AsOf = s.topics.asOf(nil, number, p.Position())
		return c
	}, queryv1connect.QueryServiceClient.GetUnread)
}

// ExplainUnread says which messages are behind a number and what does not count.
func (s *service) ExplainUnread(ctx context.Context, req *connect.Request[queryv1.ExplainUnreadRequest]) (*connect.Response[queryv1.ExplainUnreadResponse], error) {
	m := req.Msg
	if err := checkIDs(id{"user_id", m.UserId}, id{"channel_id", m.ChannelId}); err != nil {
		return nil, err
	}
	if m.ThreadId != "" {
		if err := checkIDs(id{"thread_id", m.ThreadId}); err != nil {
			return nil, err
		}
	}
	return routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) rest[queryv1.ExplainUnreadResponse] {
		w, ok := explain(p, m)
		if !ok {
			return nil
		}
		asOf := s.topics.asOf(nil, number, p.Position())
		return func(ctx context.Context) (*queryv1.ExplainUnreadResponse, error) {
			e, err := w.End(ctx)
			if err != nil {
				return nil, err
			}
			r := s.topics.explanation(&e, number)
			r.AsOf = asOf
			return r, nil
		}
	}, queryv1connect.QueryServiceClient.ExplainUnread)
}

// GetChannel answers with what is known of a channel, whoever asks.
func (s *service) GetChannel(ctx context.Context, req *connect.Request[queryv1.GetChannelRequest]) (*connect.Response[queryv1.GetChannelResponse], error) {
	m := req.Msg
	if err := checkIDs(id{"channel_id", m.ChannelId}); err != nil {
		return nil, err
	}
	return routed(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) *queryv1.GetChannelResponse {
		v, ok := p.Channel(m.ChannelId)
		if !ok {
			return nil
		}
		return &queryv1.GetChannelResponse{
			ChannelId: v.ChannelID, Latest: latest(&v.Latest), HeadSeq: v.HeadSeq, HeadPos: v.HeadPos,
			MemberCount: v.MemberCount, Large: v.Large, AsOf: s.topics.asOf(nil, number, p.Position()),
		}
	}, queryv1connect.QueryServiceClient.GetChannel)
}
