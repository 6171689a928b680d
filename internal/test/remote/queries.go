// Package remote lets a gateway under test read from a node in another process, or over a
// connection that the test can cut.
//
//	queries.go  the query service at a URL
package remote

import (
	"context"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Queries returns the query service that a gateway calls instead of the node that it runs in
// (gateway.Queries). The gateway calls it for each query, because a restarted node has another
// address.
type Queries func() queryv1connect.QueryServiceClient

// At returns the query service at a URL.
func At(client connect.HTTPClient, url string) Queries {
	service := queryv1connect.NewQueryServiceClient(client, url)
	return func() queryv1connect.QueryServiceClient { return service }
}

// GetUnread returns a user's view of a channel.
func (q Queries) GetUnread(ctx context.Context, m *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	return answerOf(q().GetUnread(ctx, connect.NewRequest(m)))
}

// GetInbox returns a page of a user's channels.
func (q Queries) GetInbox(ctx context.Context, m *queryv1.GetInboxRequest) (*queryv1.GetInboxResponse, error) {
	return answerOf(q().GetInbox(ctx, connect.NewRequest(m)))
}

// GetThreads returns a page of the threads that a user follows.
func (q Queries) GetThreads(ctx context.Context, m *queryv1.GetThreadsRequest) (*queryv1.GetThreadsResponse, error) {
	return answerOf(q().GetThreads(ctx, connect.NewRequest(m)))
}

// GetReaders returns how far each member of a channel has read.
func (q Queries) GetReaders(ctx context.Context, m *queryv1.GetReadersRequest) (*queryv1.GetReadersResponse, error) {
	return answerOf(q().GetReaders(ctx, connect.NewRequest(m)))
}

func answerOf[T any](res *connect.Response[T], err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}
