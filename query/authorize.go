package query

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/internal/fault"
	"github.com/tidemark/tidemark/query/queryv1"
)

// authorizer decides who may call what (DESIGN §10, "Who is calling"). The default is to refuse.
// judge.go has determined the caller:
//
//   - A token may call everything that its scopes are for: queries (read), events (publish),
//     erasures (erase).
//   - A user's token may call anything about its own user. A request without a user gets that user.
//     If the request names a channel, the user must be a member; others get the same answer as for
//     an unknown channel.
//
// A node that forwards a call states for whom, and the owner authorizes it again.
type authorizer struct {
	verifier *auth.Verifier // nil: there are no keys, and everything is allowed
	service  *service
}

// caller returns the caller that judge.go has determined.
func caller(ctx context.Context) (auth.Identity, error) {
	id, known := auth.IdentityOf(ctx)
	if !known {
		return id, fault.Unauthenticated("no token: send it as Authorization: Bearer")
	}
	return id, nil
}

// needed returns the scopes that a request about any user needs.
func needed(m any) (s auth.Scopes) {
	switch r := m.(type) {
	case *ingestv1.PublishRequest:
		for _, e := range r.Events {
			if e.GetRead().GetUserErased() != nil {
				s |= auth.ScopeErase
			} else {
				s |= auth.ScopePublish
			}
		}
		if s == 0 {
			s = auth.ScopePublish
		}
		return s
	case *ingestv1.MarkAllReadRequest:
		return auth.ScopePublish
	}
	return auth.ScopeRead
}

// own restricts m to a request that the caller may make: one that their scopes are for, or one
// about themselves.
func own(id auth.Identity, m any) error {
	needs := needed(m)
	if id.Scopes.May(needs) {
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
	return errNotYours(needs)
}

func errNotYours(needs auth.Scopes) error {
	return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("a user's token allows calls about that user only; "+
		"for this call the token needs the scope %s (or %s)", needs, auth.ScopeService))
}

// WrapUnary authorizes calls. It checks the membership after the answer was computed, so the check
// is not older than the answer.
func (a *authorizer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		if a.verifier == nil {
			return next(ctx, req)
		}
		id, err := caller(ctx)
		if err != nil {
			return nil, err
		}
		if err := own(id, req.Any()); err != nil {
			return nil, err
		}
		res, err := next(ctx, req)
		c, ok := req.Any().(interface{ GetChannelId() string })
		if !ok || c.GetChannelId() == "" || id.Scopes.May(needed(req.Any())) {
			return res, err
		}
		// A fault of the request itself is the same for every channel, and so is a partition that
		// is moving.
		if code := connect.CodeOf(err); err != nil && (code == connect.CodeInvalidArgument || code == connect.CodeUnavailable) {
			return nil, err
		}
		if member, asked := a.member(ctx, id.Subject, c.GetChannelId()); asked != nil {
			return nil, asked
		} else if !member {
			return nil, fault.ChannelNotFound(c.GetChannelId())
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

// WrapStreamingClient does nothing: a node calls no other through these interceptors.
func (a *authorizer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler authorizes streams once their request has arrived, and ends them when the
// token becomes invalid.
func (a *authorizer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if a.verifier == nil {
			return next(ctx, conn)
		}
		id, err := caller(ctx)
		if err != nil {
			return err
		}
		streaming, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer a.verifier.Hold(id, func(why error) { cancel(why) })()
		err = next(streaming, &ownStream{conn, id})
		if why := context.Cause(streaming); errors.Is(why, auth.ErrExpired) || errors.Is(why, auth.ErrRevoked) {
			return fault.UnauthenticatedFor(why)
		}
		return err
	}
}

// ownStream is a stream whose requests must be about the caller.
type ownStream struct {
	connect.StreamingHandlerConn
	id auth.Identity
}

// Receive authorizes the received request.
func (s *ownStream) Receive(m any) error {
	if err := s.StreamingHandlerConn.Receive(m); err != nil {
		return err
	}
	return own(s.id, m)
}

// fillUser sets the caller as the user of a request without a user.
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
