// Package audited records calls in the audit log: erasures, events written with tokens of scope
// publish, and refusals.
//
//	audited.go the interceptor
package audited

import (
	"context"
	"errors"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/internal/codec"
)

// Interceptor records the finished calls of a handler. Calls that were not admitted do not reach
// it.
type Interceptor struct {
	Log     *audit.Log                // nil: nothing is recorded
	Outcome func(error) (code string) // the code of a call's error
}

// WrapUnary implements connect.Interceptor.
func (a *Interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		res, err := next(ctx, req)
		a.note(ctx, req.Any(), req.Spec().Procedure, req.Peer().Addr, err)
		return res, err
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (a *Interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		err := next(ctx, conn)
		a.note(ctx, nil, conn.Spec().Procedure, conn.Peer().Addr, err)
		return err
	}
}

// WrapStreamingClient implements connect.Interceptor. Calls of this node to others are not recorded
// here.
func (a *Interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// note records a finished call, if it is one of those. m is its request; nil for a stream.
func (a *Interceptor) note(ctx context.Context, m any, procedure, remote string, err error) {
	if a.Log == nil || errors.Is(err, auth.ErrExpired) { // a stream that ends with its token is no failure
		return
	}
	outcome := a.Outcome(err)
	count, erased := published(m)
	var kind audit.Kind
	id, _ := auth.IdentityOf(ctx)
	switch {
	case audit.IsRefusal(outcome):
		kind, erased = audit.Refusal, nil
	case len(erased) > 0:
		kind = audit.Erasure
	case count > 0 && id.Scopes.May(auth.ScopePublish):
		kind = audit.Publish
	default:
		return
	}
	e := audit.Of(ctx, kind, procedure, remote)
	e.Outcome, e.Erased = outcome, erased
	if kind == audit.Refusal {
		e.Why = Message(err)
	} else if _, is := m.(*ingestv1.PublishRequest); is {
		e.Events = count
	}
	a.Log.Note(e)
}

// published returns how many events a request writes, 0 for a query, and the users that it erases.
func published(m any) (count int, erased []string) {
	switch r := m.(type) {
	case *ingestv1.MarkAllReadRequest:
		return 1, nil
	case *ingestv1.PublishRequest:
		for _, e := range r.Events[:min(len(r.Events), codec.MaxEvents)] {
			if e.GetRead().GetUserErased() != nil {
				user := e.GetRead().GetUserId()
				erased = append(erased, user[:min(len(user), events.MaxIDBytes)])
			}
		}
		return max(len(r.Events), 1), erased
	}
	return 0, nil
}

// Message returns an error's message without its code, as a caller sees it.
func Message(err error) string {
	var ce *connect.Error
	if errors.As(err, &ce) {
		return ce.Message()
	}
	return err.Error()
}
