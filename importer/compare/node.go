package compare

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// node queries a node. Each call waits until the tokens of after are folded.
type node struct {
	client  queryv1connect.QueryServiceClient
	after   []string
	waiting *waiting
}

// ours is Tidemark's number of a pair. known is false if the node does not have the channel.
type ours struct {
	Numbers
	known bool
}

// pageSize is the largest page of an answer.
const pageSize = 1000

// read returns the numbers of a user in the given places.
func (n *node) read(ctx context.Context, user string, places map[place]Numbers) (map[place]ours, error) {
	all := map[place]ours{}
	threads := false
	for at := range places {
		threads = threads || at.thread != ""
	}
	if err := n.inbox(ctx, user, all); err != nil {
		return nil, err
	}
	if threads {
		if err := n.threads(ctx, user, all); err != nil {
			return nil, err
		}
	}
	for at := range places {
		if _, found := all[at]; found {
			continue
		}
		one, err := n.single(ctx, user, at)
		if err != nil {
			return nil, err
		}
		all[at] = one
	}
	return all, nil
}

// inbox adds the channels that the user is a member of.
func (n *node) inbox(ctx context.Context, user string, all map[place]ours) error {
	req := &queryv1.GetInboxRequest{UserId: user, Archived: "all", PageSize: pageSize, After: n.after}
	for {
		res, err := patient(ctx, n, func() (*connect.Response[queryv1.GetInboxResponse], error) {
			return n.client.GetInbox(ctx, connect.NewRequest(req))
		})
		if err != nil {
			return err
		}
		for _, c := range res.Channels {
			all[place{c.ChannelId, ""}] = ours{numbers(c.Unread, c.Mentions), true}
		}
		if res.NextPageToken == "" {
			return nil
		}
		req.PageToken = res.NextPageToken
	}
}

// threads adds the threads that the user follows and that are listed.
func (n *node) threads(ctx context.Context, user string, all map[place]ours) error {
	req := &queryv1.GetThreadsRequest{UserId: user, PageSize: pageSize, After: n.after}
	for {
		res, err := patient(ctx, n, func() (*connect.Response[queryv1.GetThreadsResponse], error) {
			return n.client.GetThreads(ctx, connect.NewRequest(req))
		})
		if err != nil {
			return err
		}
		for _, t := range res.Threads {
			all[place{t.ChannelId, t.ThreadId}] = ours{numbers(t.Unread, t.Mentions), true}
		}
		if res.NextPageToken == "" {
			return nil
		}
		req.PageToken = res.NextPageToken
	}
}

// single returns the number of a channel that the user is not a member of, or of a thread that is
// not listed. No answer has the mentions of such a thread.
func (n *node) single(ctx context.Context, user string, at place) (ours, error) {
	if at.thread != "" {
		x, err := n.explain(ctx, Pair{user, at.channel, at.thread})
		if err != nil || x == nil {
			return ours{}, err
		}
		o := ours{Numbers{Unread: int64(x.Unread)}, true}
		if x.Unread == 0 {
			o.Numbers = numbers(0, 0)
		}
		return o, nil
	}
	c, err := patient(ctx, n, func() (*connect.Response[queryv1.ChannelUnread], error) {
		return n.client.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: user, ChannelId: at.channel, After: n.after}))
	})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return ours{Numbers: numbers(0, 0)}, nil
	}
	if err != nil {
		return ours{}, err
	}
	return ours{numbers(c.Unread, c.Mentions), true}, nil
}

// explain returns the messages behind a number; nil if the node does not have the channel.
func (n *node) explain(ctx context.Context, p Pair) (*queryv1.ExplainUnreadResponse, error) {
	x, err := patient(ctx, n, func() (*connect.Response[queryv1.ExplainUnreadResponse], error) {
		return n.client.ExplainUnread(ctx, connect.NewRequest(&queryv1.ExplainUnreadRequest{
			UserId: p.User, ChannelId: p.Channel, ThreadId: p.Thread, After: n.after,
		}))
	})
	if connect.CodeOf(err) == connect.CodeNotFound {
		return nil, nil
	}
	return x, err
}

func numbers(unread, mentions uint32) Numbers {
	m := int64(mentions)
	return Numbers{Unread: int64(unread), Mentions: &m}
}

// retryEvery is the pause before a call is repeated.
const retryEvery = 200 * time.Millisecond

// patient repeats a call while the node cannot answer yet: it has not folded all records of the
// topics, or a partition moves. It gives up once the node stands still.
func patient[T any](ctx context.Context, n *node, ask func() (*connect.Response[T], error)) (*T, error) {
	for {
		res, err := ask()
		if err == nil {
			return res.Msg, nil
		}
		if connect.CodeOf(err) != connect.CodeUnavailable || !connect.IsWireError(err) {
			return nil, err
		}
		if err := n.waiting.wait(ctx, err); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}
