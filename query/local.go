package query

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/internal/audited"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Local answers calls of this process without HTTP: from the partitions that are live here, and by
// calling the owners of all others. Every call passes the checks, limits, metrics, audit and
// recovery of panics that Handler applies to a decoded call. Checks of a request's bytes and
// address do not apply, because there are none.
//
// With a Verifier the caller's identity is that of the context (auth.WithIdentity). Without one
// everything is allowed here, and the identity is stated to the owners to which a call is
// forwarded.
type Local struct {
	service *service
	chain   []connect.Interceptor // the outermost first
}

// NewLocal creates a Local. It panics if c lacks a required field.
func NewLocal(c Config) *Local {
	c = c.withDefaults()
	m := newMetrics(c.Registerer, c.Logger)
	s := newService(c, m)
	return &Local{service: s, chain: interceptors(&c, m, &authorizer{c.Verifier, s})}
}

// interceptors returns the interceptors of every call, the outermost first.
func interceptors(c *Config, m *metrics, a *authorizer) []connect.Interceptor {
	all := []connect.Interceptor{m, &audited.Interceptor{Log: c.Audit, Outcome: codeLabel}, &recoverer{c.Logger}, a}
	if c.Spans != nil {
		all = append([]connect.Interceptor{c.Spans}, all...)
	}
	if c.Inside != nil {
		all = append(all, c.Inside)
	}
	return all
}

// GetUnread returns a user's view of one channel.
func (l *Local) GetUnread(ctx context.Context, m *queryv1.GetUnreadRequest) (*queryv1.ChannelUnread, error) {
	return callLocal(ctx, l, queryv1connect.QueryServiceGetUnreadProcedure, m, l.service.GetUnread)
}

// GetInbox returns a page of a user's channels, with totals over all of them.
func (l *Local) GetInbox(ctx context.Context, m *queryv1.GetInboxRequest) (*queryv1.GetInboxResponse, error) {
	return callLocal(ctx, l, queryv1connect.QueryServiceGetInboxProcedure, m, l.service.GetInbox)
}

// GetThreads returns a page of the threads that a user follows.
func (l *Local) GetThreads(ctx context.Context, m *queryv1.GetThreadsRequest) (*queryv1.GetThreadsResponse, error) {
	return callLocal(ctx, l, queryv1connect.QueryServiceGetThreadsProcedure, m, l.service.GetThreads)
}

// GetReaders returns how far each member of a channel has read.
func (l *Local) GetReaders(ctx context.Context, m *queryv1.GetReadersRequest) (*queryv1.GetReadersResponse, error) {
	return callLocal(ctx, l, queryv1connect.QueryServiceGetReadersProcedure, m, l.service.GetReaders)
}

// localRequest is a request that names its procedure, as a request from the network does.
type localRequest struct {
	connect.AnyRequest
	procedure string
}

// Spec names the procedure.
func (r localRequest) Spec() connect.Spec {
	return connect.Spec{Procedure: r.procedure, StreamType: connect.StreamTypeUnary}
}

func callLocal[Req, Res any](ctx context.Context, l *Local, procedure string, m *Req,
	call func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
) (*Res, error) {
	var res *connect.Response[Res]
	req := connect.NewRequest(m)
	next := func(ctx context.Context, _ connect.AnyRequest) (_ connect.AnyResponse, err error) {
		if res, err = call(ctx, req); err != nil {
			return nil, err
		}
		return res, nil
	}
	for i := len(l.chain) - 1; i >= 0; i-- {
		next = l.chain[i].WrapUnary(next)
	}
	if _, err := next(ctx, localRequest{req, procedure}); err != nil {
		return nil, wireError(err)
	}
	return res.Msg, nil
}

// wireError converts an error to the form that a caller over the network gets: with connect's code
// for the end of a context.
func wireError(err error) error {
	var known *connect.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return connect.NewError(connect.CodeCanceled, err)
	case errors.Is(err, context.DeadlineExceeded):
		return connect.NewError(connect.CodeDeadlineExceeded, err)
	}
	return connect.NewError(connect.CodeUnknown, err)
}
