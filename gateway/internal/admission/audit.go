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

// socketPath is the method that all these entries of the audit log name.
const socketPath = "/v1/socket"

// Note notes in the audit log that somebody was not let in, or may not go on. id is zero where
// nobody proved who they are; ctx has the id of the request, and remote is its RemoteAddr.
func (d *Door) Note(ctx context.Context, id auth.Identity, remote, outcome, why string) {
	e := audit.Of(ctx, audit.Refusal, socketPath, remote).By(id)
	e.Outcome, e.Why = outcome, why
	d.cfg.Audit.Note(e)
}

// NoteEvent notes in the audit log that a token of scope publish wrote an event for a user, or with
// err tried to. What users write with tokens of their own is not noted.
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

// NoteStatus is Note for a request that was answered with a status, if that is a refusal.
func (d *Door) NoteStatus(r *http.Request, status int, why string) {
	outcome := map[int]string{
		http.StatusUnauthorized: NotAuthenticated, http.StatusForbidden: notPermitted, http.StatusTooManyRequests: Exhausted,
	}[status]
	if outcome != "" {
		d.Note(r.Context(), auth.Identity{}, r.RemoteAddr, outcome, why)
	}
}
