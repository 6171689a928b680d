package ui

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
)

// guard admits callers who may see everything, since /ui/api serves the messages of all users. A
// stream ends when its token becomes invalid.
func (u *UI) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, no := auth.Operator(u.cfg.Verifier, r, auth.ScopeRead|auth.ScopeAdmin)
		if no != nil {
			if no.Err != nil {
				u.cfg.Logger.DebugContext(r.Context(), "a token was refused", "err", no.Err)
			}
			if no.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			audit.Heard(r.Context(), id, no.Message)
			refuseAs(w, no.Status, no.Code, errors.New(no.Message))
			return
		}
		audit.Heard(r.Context(), id, "")
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer u.cfg.Verifier.Hold(id, func(error) { cancel() })() // a stream ends with its token
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// audited logs changes and refused callers. Reads are not logged.
func (u *UI) audited(mux *http.ServeMux, next http.Handler) http.Handler {
	kind := func(r *http.Request) audit.Kind {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return ""
		}
		return audit.Admin
	}
	return audit.Handler(u.cfg.Audit, kind, func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		if _, path, found := strings.Cut(pattern, " "); found {
			return path
		}
		return "/ui/api/"
	}, next)
}
