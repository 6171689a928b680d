package query

import (
	"context"
	"log/slog"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/answer"
	"github.com/tidemark/tidemark/query/internal/expiry"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/internal/kept"
	"github.com/tidemark/tidemark/query/internal/owners"
	"github.com/tidemark/tidemark/query/internal/peers"
	"github.com/tidemark/tidemark/query/internal/position"
	"github.com/tidemark/tidemark/query/internal/streams"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// service implements QueryService.
type service struct {
	node      Node
	owners    *owners.Finder
	topics    position.Topics
	peers     *peers.Peers
	watches   *streams.Limit // streams of clients
	relays    *streams.Limit // streams of other nodes, for their clients
	waits     *limit.Slots
	lists     *kept.Lists // of users with much data, between their calls
	stopping  context.Context
	heartbeat time.Duration
	// sendTimeout is how long a client may leave one message of a stream unread before the stream
	// ends.
	sendTimeout time.Duration
	now         func() time.Time
	levels      *expiry.Clock // of all streams
	log         *slog.Logger
	metrics     *metrics
	planted     func(partition int32)
}

var _ queryv1connect.QueryServiceHandler = (*service)(nil)

func newService(c Config, m *metrics) *service {
	return &service{
		node: c.Node, owners: &owners.Finder{Node: c.Node, Self: c.Self}, topics: c.Topics, peers: peers.New(&c.Peers, c.Transport, c.Spans),
		watches:  streams.NewLimit(c.MaxWatches, c.MaxWatchesPerUser, m.watches),
		relays:   streams.NewLimit(streams.RelayFactor*c.MaxWatches, streams.RelayFactor*c.MaxWatchesPerUser, m.relays),
		stopping: c.Stopping, waits: limit.NewSlots(c.Limits.Waits), lists: kept.New(c.Now),
		levels:    expiry.New(c.Now, guard.Log(c.Logger, "streams do not tell when levels end")),
		heartbeat: c.HeartbeatEvery, sendTimeout: c.sendTimeout, now: c.Now, log: c.Logger, metrics: m, planted: c.planted,
	}
}

// GetUnread answers with a user's view of one channel.
func (s *service) GetUnread(ctx context.Context, req *connect.Request[queryv1.GetUnreadRequest]) (*connect.Response[queryv1.ChannelUnread], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "user_id", Value: m.UserId}, fault.ID{Field: "channel_id", Value: m.ChannelId}); err != nil {
		return nil, err
	}
	now, err := s.at(m.EvaluatedAt)
	if err != nil {
		return nil, err
	}
	return routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) (end rest[queryv1.ChannelUnread]) {
		defer p.TimeHold("GetUnread")()
		asOf := s.topics.AsOf(nil, number, p.Position())
		views := p.BeginViews()
		defer func() {
			if end == nil { // there is no such channel, or explain panics
				views.Drop()
			}
		}()
		v, ok := views.View(m.UserId, m.ChannelId)
		if !ok {
			return nil
		}
		return func(ctx context.Context) (*queryv1.ChannelUnread, error) {
			if err := views.End(ctx); err != nil {
				return nil, err
			}
			c := answer.Channel(v, now)
			c.EvaluatedAt, c.AsOf = answer.Timestamp(now), asOf
			return c, nil
		}
	}, queryv1connect.QueryServiceClient.GetUnread)
}

// ExplainUnread returns the messages behind a count, and those that do not count.
func (s *service) ExplainUnread(ctx context.Context, req *connect.Request[queryv1.ExplainUnreadRequest]) (*connect.Response[queryv1.ExplainUnreadResponse], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "user_id", Value: m.UserId}, fault.ID{Field: "channel_id", Value: m.ChannelId}); err != nil {
		return nil, err
	}
	if m.ThreadId != "" {
		if err := fault.CheckIDs(fault.ID{Field: "thread_id", Value: m.ThreadId}); err != nil {
			return nil, err
		}
	}
	return routedInTwo(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) rest[queryv1.ExplainUnreadResponse] {
		defer p.TimeHold("ExplainUnread")()
		asOf := s.topics.AsOf(nil, number, p.Position())
		w, ok := explain(p, m) // last: from here on it must be ended
		if !ok {
			return nil
		}
		return func(ctx context.Context) (*queryv1.ExplainUnreadResponse, error) {
			e, err := w.End(ctx)
			if err != nil {
				return nil, err
			}
			r := answer.Explanation(&s.topics, &e, number)
			r.AsOf = asOf
			return r, nil
		}
	}, queryv1connect.QueryServiceClient.ExplainUnread)
}

// GetChannel describes a channel. The answer is the same for every caller.
func (s *service) GetChannel(ctx context.Context, req *connect.Request[queryv1.GetChannelRequest]) (*connect.Response[queryv1.GetChannelResponse], error) {
	m := req.Msg
	if err := fault.CheckIDs(fault.ID{Field: "channel_id", Value: m.ChannelId}); err != nil {
		return nil, err
	}
	return routed(ctx, s, req, m.ChannelId, m.After, func(p *projections.Partition, number int32) *queryv1.GetChannelResponse {
		defer p.TimeHold("GetChannel")()
		v, ok := p.Channel(m.ChannelId)
		if !ok {
			return nil
		}
		return &queryv1.GetChannelResponse{
			ChannelId: v.ChannelID, Latest: answer.Latest(&v.Latest), HeadSeq: v.HeadSeq, HeadPos: v.HeadPos,
			MemberCount: v.MemberCount, Large: v.Large, Labels: v.Labels, Archived: v.Archived,
			AsOf: s.topics.AsOf(nil, number, p.Position()),
		}
	}, queryv1connect.QueryServiceClient.GetChannel)
}
