package query

import (
	"context"
	"errors"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// authorizer decides who may call what (DESIGN §10, "Who is asking"), by default nobody anything:
//
//   - A service token may call everything.
//   - A user's token may call what names its own user, or nobody, in which case it is filled in, and, if it names a
//     channel, only while its user is a member. Everybody else gets the answer that an unknown channel gets.
//   - What names neither user nor channel (Publish) is for services.
//
// The caller's token goes along when a call is forwarded, and the owner judges it again.
type authorizer struct {
	verifier *auth.Verifier // nil: there are no keys, and everything is allowed; tokens are passed on all the same
	service  *service
}

// tokenKey finds the caller's token in the context of a call.
type tokenKey struct{}

func withToken(ctx context.Context, h http.Header) context.Context {
	if token, ok := auth.Bearer(h); ok {
		return context.WithValue(ctx, tokenKey{}, token)
	}
	return ctx
}

func unauthenticated(message string) error {
	err := connect.NewError(connect.CodeUnauthenticated, errors.New(message))
	err.Meta().Set("WWW-Authenticate", "Bearer")
	return err
}

func (a *authorizer) who(ctx context.Context, h http.Header) (auth.Identity, error) {
	token, ok := auth.Bearer(h)
	if !ok {
		return auth.Identity{}, unauthenticated("no token: send it as Authorization: Bearer")
	}
	id, err := a.verifier.Verify(ctx, token)
	if err != nil {
		a.service.log.Debug("a token was refused", "err", err)
		return auth.Identity{}, unauthenticated("the token is not valid")
	}
	return id, nil
}

// own makes m a request about the caller alone, or refuses it.
func own(id auth.Identity, m any) error {
	if id.Service {
		return nil
	}
	u, about := m.(interface{ GetUserId() string })
	_, channel := m.(interface{ GetChannelId() string })
	switch {
	case about && u.GetUserId() == "":
		fillUser(m, id.Subject)
		return nil
	case about && u.GetUserId() == id.Subject, !about && channel:
		return nil
	}
	return connect.NewError(connect.CodePermissionDenied, errors.New("a user's token is for the calls about that user alone; "+
		"for others, and to publish, the token needs the scope "+auth.ServiceScope))
}

// WrapUnary judges calls. Membership is looked at after the answer was made: then it is not older than the answer.
func (a *authorizer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if req.Spec().IsClient {
			if token, ok := ctx.Value(tokenKey{}).(string); ok {
				req.Header().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, req)
		}
		ctx = withToken(ctx, req.Header())
		if a.verifier == nil {
			return next(ctx, req)
		}
		id, err := a.who(ctx, req.Header())
		if err != nil {
			return nil, err
		}
		if err := own(id, req.Any()); err != nil {
			return nil, err
		}
		res, err := next(ctx, req)
		c, ok := req.Any().(interface{ GetChannelId() string })
		if id.Service || !ok || c.GetChannelId() == "" {
			return res, err
		}
		// What is wrong with the request itself is wrong for every channel, and so is a partition that moves.
		if code := connect.CodeOf(err); err != nil && (code == connect.CodeInvalidArgument || code == connect.CodeUnavailable) {
			return nil, err
		}
		if member, asked := a.member(ctx, id.Subject, c.GetChannelId()); asked != nil {
			return nil, asked
		} else if !member {
			return nil, channelNotFound(c.GetChannelId())
		}
		return res, err
	}
}

// member asks the owner of a channel whether a user is a member now.
func (a *authorizer) member(ctx context.Context, userID, channelID string) (bool, error) {
	res, err := a.service.GetUnread(ctx, connect.NewRequest(&queryv1.GetUnreadRequest{UserId: userID, ChannelId: channelID}))
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		return false, nil
	case err != nil:
		return false, err
	}
	return res.Msg.Member, nil
}

// WrapStreamingClient passes the caller's token on.
func (a *authorizer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		if token, ok := ctx.Value(tokenKey{}).(string); ok {
			conn.RequestHeader().Set("Authorization", "Bearer "+token)
		}
		return conn
	}
}

// WrapStreamingHandler judges streams once their request has come, and ends them when the token expires.
func (a *authorizer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx = withToken(ctx, conn.RequestHeader())
		if a.verifier == nil {
			return next(ctx, conn)
		}
		id, err := a.who(ctx, conn.RequestHeader())
		if err != nil {
			return err
		}
		expired, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		timer := time.AfterFunc(time.Until(id.Expires), func() { cancel(errExpired) })
		defer timer.Stop()
		err = next(expired, &ownStream{conn, id})
		if errors.Is(context.Cause(expired), errExpired) {
			return unauthenticated(errExpired.Error())
		}
		return err
	}
}

var errExpired = errors.New("the token has expired: call again with another")

// ownStream is a stream whose requests have to be about the caller.
type ownStream struct {
	connect.StreamingHandlerConn
	id auth.Identity
}

// Receive judges what was received.
func (s *ownStream) Receive(m any) error {
	if err := s.StreamingHandlerConn.Receive(m); err != nil {
		return err
	}
	return own(s.id, m)
}

// fillUser names the caller in a request that names nobody.
func fillUser(m any, userID string) {
	switch r := m.(type) {
	case *queryv1.GetUnreadRequest:
		r.UserId = userID
	case *queryv1.GetInboxRequest:
		r.UserId = userID
	case *queryv1.GetThreadsRequest:
		r.UserId = userID
	case *queryv1.ExplainUnreadRequest:
		r.UserId = userID
	case *queryv1.WatchUnreadRequest:
		r.UserId = userID
	case *ingestv1.MarkAllReadRequest:
		r.UserId = userID
	}
}
