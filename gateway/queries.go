package gateway

import (
	"context"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Queries answers the gateway's queries. *query.Local implements it with the partitions of this
// node, and by calling the owners of the others. Errors have the codes of package connect.
type Queries interface {
	GetUnread(context.Context, *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error)
	GetInbox(context.Context, *queryv1.GetInboxRequest) (*queryv1.GetInboxResponse, error)
	GetThreads(context.Context, *queryv1.GetThreadsRequest) (*queryv1.GetThreadsResponse, error)
	GetReaders(context.Context, *queryv1.GetReadersRequest) (*queryv1.GetReadersResponse, error)
}

// as sets the user for whom Queries is called. This node does not authorize the call; if it is
// forwarded, the owner does.
func (g *Gateway) as(ctx context.Context, user string) context.Context {
	if g.cfg.Verifier == nil {
		return ctx
	}
	return auth.WithIdentity(ctx, auth.Identity{Subject: user})
}

// asItself is as for calls on the gateway's own account.
func (g *Gateway) asItself(ctx context.Context) context.Context {
	if g.cfg.Verifier == nil {
		return ctx
	}
	return auth.WithIdentity(ctx, auth.Identity{Subject: "tidemark-gateway", Scopes: auth.ScopeRead})
}

// mayAsk returns why the gateway cannot call other nodes on its own account now, or nil.
func (g *Gateway) mayAsk() error {
	if g.cfg.OwnAccount == nil {
		return nil
	}
	return g.cfg.OwnAccount()
}
