package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/tidemark/tidemark/internal/auth"
)

// guard lets in who may see everything, since /ui/api tells everybody's messages, and for as long as the token is valid.
func (u *UI) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, no := auth.Operator(u.cfg.Verifier, r)
		if no != nil {
			if no.Err != nil {
				u.cfg.Logger.Debug("a token was refused", "err", no.Err)
			}
			if no.Status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			refuseAs(w, no.Status, no.Code, errors.New(no.Message))
			return
		}
		if !id.Expires.IsZero() {
			ctx, cancel := context.WithDeadline(r.Context(), id.Expires) // a stream ends with its token
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}
