package query

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/guard/httpguard"
)

// recoverer answers a call that panics, here or in a goroutine that it waits for, with the code
// internal. The log has the panic with its stack; the answer has no details.
type recoverer struct{ log *slog.Logger }

// WrapUnary implements connect.Interceptor.
func (p *recoverer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, err error) {
		if req.Spec().IsClient {
			return next(ctx, req)
		}
		err = p.call(ctx, req.Spec(), func() (err error) {
			res, err = next(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		return res, nil
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (p *recoverer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return p.call(ctx, conn.Spec(), func() error { return next(ctx, conn) })
	}
}

// WrapStreamingClient implements connect.Interceptor. A panic of a client is a panic of the call
// that uses it.
func (p *recoverer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

func (p *recoverer) call(ctx context.Context, spec connect.Spec, f func() error) error {
	err := guard.Err(spec.Procedure, f)
	bug := guard.Of(err)
	if bug == nil {
		return err
	}
	if bug.Value == http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
		panic(bug.Value)
	}
	p.log.ErrorContext(ctx, "panic while answering", append(guard.Attrs(bug), "method", spec.Procedure)...)
	return connect.NewError(connect.CodeInternal, errors.New(httpguard.Answer))
}
