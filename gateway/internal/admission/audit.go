package admission

import (
	"context"
	"net/http"

	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
)

// Outcomes of refusals: the codes of the query service's errors.
const (
	NotAuthenticated = "unauthenticated"
	notPermitted     = "permission_denied"
	Exhausted        = frames.Exhausted
)

// socketPath is the method in all these audit entries.
const socketPath = "/v1/socket"

// Note writes an audit entry that a caller was refused or cut off. id is zero if the caller has
// proved no identity; ctx has the request's id, and remote is its RemoteAddr.
func (d *Door) Note(ctx context.Context, id auth.Identity, remote, outcome, why string) {
	e := audit.Of(ctx, audit.Refusal, socketPath, remote).By(id)
	e.Outcome, e.Why = outcome, why
	d.cfg.Audit.Note(e)
}

// NoteEvent writes an audit entry that a token of scope publish wrote an event for a user, or tried
// to (err). Events of users with their own tokens are not recorded.
func (d *Door) NoteEvent(ctx context.Context, id auth.Identity, user, remote string, err error) {
	if !id.Scopes.May(auth.ScopePublish) {
		return
	}
	e := audit.Of(ctx, audit.Publish, socketPath, remote).By(id)
	e.Outcome, e.For, e.Events = audit.OK, user, 1
	if err != nil {
		e.Outcome = frames.Code(err)
	}
	d.cfg.Audit.Note(e)
}

// NoteStatus is Note for an HTTP response with a status, if that is a refusal.
func (d *Door) NoteStatus(r *http.Request, status int, why string) {
	outcome := map[int]string{
		http.StatusUnauthorized: NotAuthenticated, http.StatusForbidden: notPermitted, http.StatusTooManyRequests: Exhausted,
	}[status]
	if outcome != "" {
		d.Note(r.Context(), auth.Identity{}, r.RemoteAddr, outcome, why)
	}
}
