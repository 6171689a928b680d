package query

import (
	"cmp"
	"context"
	"strconv"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query/internal/cold"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

const (
	// headerHops counts how often a call was forwarded, so that nodes with different views of the
	// group cannot send it in a circle. Only nodes may send headerHops and headerPartitions.
	headerHops = peer.HeaderHops
	// headerPartitions restricts a call about a user to these partitions of the receiving node
	// ("0,3,7").
	headerPartitions = peer.HeaderPartitions
	// maxHops lets a call follow a partition that moved meanwhile, but not circulate.
	maxHops = 3
	// maxCall limits a call that is not a stream: a wait, the reading and two hops. It is above
	// maxWait, so that a failed wait returns its own error.
	maxCall = 2 * maxWait
)

// remoteCall is a method of the generated client.
type remoteCall[Req, Res any] func(queryv1connect.QueryServiceClient, context.Context, *connect.Request[Req]) (*connect.Response[Res], error)

// routed answers a call about one channel: from the projections of its partition if they are live
// here, otherwise by forwarding it to the owner. local runs under the partition's read lock and
// returns nil for an unknown or deleted channel.
func routed[Req, Res any](ctx context.Context, s *service, req *connect.Request[Req], channelID string, tokens []string,
	local func(p *projections.Partition, number int32) *Res, remote remoteCall[Req, Res],
) (*connect.Response[Res], error) {
	return routedInTwo(ctx, s, req, channelID, tokens, func(p *projections.Partition, number int32) rest[Res] {
		res := local(p, number)
		if res == nil {
			return nil
		}
		return func(context.Context) (*Res, error) { return res, nil }
	}, remote)
}

// rest completes, without the lock, an answer that was begun under a partition's lock. It is called
// once.
type rest[Res any] func(context.Context) (*Res, error)

// routedInTwo is routed for answers that take longer than a lock may be held: begin runs under the
// partition's read lock, and the function that it returns afterwards. If the store closes before
// the answer is complete, the call goes to the partition's next owner.
func routedInTwo[Req, Res any](ctx context.Context, s *service, req *connect.Request[Req], channelID string, tokens []string,
	begin func(p *projections.Partition, number int32) rest[Res], remote remoteCall[Req, Res],
) (*connect.Response[Res], error) {
	ctx, cancel := context.WithTimeout(ctx, maxCall)
	defer cancel()
	n, err := s.partitions()
	if err != nil {
		return nil, err
	}
	a, err := s.topics.ParseAfter(tokens, n)
	if err != nil {
		return nil, err
	}
	p := partitionOf(channelID, n)
	_, notLive := s.node.Live(p)
	if notLive == nil {
		if err := s.wait(ctx, a, p); err != nil {
			return nil, err
		}
		var end rest[Res]
		var share cold.Share
		defer share.Close()
		notLive = s.readChannel(p, channelID, &share, func(part *projections.Partition) { end = begin(part, p) })
		switch {
		case end != nil: // always: an answer that was begun must be ended
			res, err := end(ctx)
			if err = cmp.Or(notLive, err); err == nil {
				return connect.NewResponse(res), nil
			}
			if ctx.Err() != nil {
				return nil, fault.Unavailable("channel_id %q could not be read in time: %v", channelID, context.Cause(ctx))
			}
			notLive = err
		case notLive == nil:
			return nil, fault.ChannelNotFound(channelID)
		}
	}
	return forward(ctx, s, req, p, notLive, remote)
}

// forward sends a call to the owner of partition p. notLive is why this node cannot answer it.
func forward[Req, Res any](ctx context.Context, s *service, req *connect.Request[Req], p int32, notLive error,
	remote remoteCall[Req, Res],
) (*connect.Response[Res], error) {
	hops, err := 0, error(nil)
	if text := req.Header().Get(headerHops); text != "" {
		hops, err = strconv.Atoi(text)
	}
	if err != nil || hops < 0 || hops >= maxHops {
		return nil, fault.Unavailable("partition %d is moving: %d nodes in turn did not have it", p, hops+1)
	}
	url, err := s.owners.Owner(ctx, p, notLive)
	if err != nil {
		return nil, err
	}
	client, err := s.peers.Client(ctx, url)
	if err != nil {
		return nil, fault.UnavailableFor(err, "partition %d: %v", p, err)
	}
	out := connect.NewRequest(req.Msg)
	out.Header().Set(headerHops, strconv.Itoa(hops+1))
	s.metrics.forwarded.Inc()
	res, err := remote(client, ctx, out)
	if err != nil {
		return nil, s.peers.Failed(ctx, url, "", err)
	}
	s.peers.Answered(url)
	return connect.NewResponse(res.Msg), nil
}

// partitions returns the partition count, or unavailable while it is unknown.
func (s *service) partitions() (int32, error) {
	if n := s.node.Partitions(); n > 0 {
		return n, nil
	}
	return 0, fault.Unavailable("this node has not joined its group yet")
}

// partitionOf returns the input partition of a channel, of n.
func partitionOf(channelID string, n int32) int32 { return events.PartitionOf([]byte(channelID), n) }
