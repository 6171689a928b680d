package ui

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/tidemark/tidemark/internal/auth"
)

// guard lets in who may see everything, since /ui/api tells everybody's messages: where there are keys, who brings a
// token of scope service, and for as long as that is valid. Without keys everybody who reaches the node may (it listens
// on loopback only, or was told otherwise in so many words), but no page of another site, which might have made its own
// name point here: the address has to be a number or localhost.
func (u *UI) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.cfg.Verifier == nil {
			if !numeric(r.Host) {
				refuseAs(w, http.StatusForbidden, "permission_denied", errors.New("this node has no keys, so the page answers at an IP address or localhost only, not at a name"))
				return
			}
			next.ServeHTTP(w, r)
			return
		}
		token, ok := auth.Bearer(r.Header)
		if !ok {
			unauthenticated(w, "no token: send it as Authorization: Bearer")
			return
		}
		id, err := u.cfg.Verifier.Verify(r.Context(), token)
		if err != nil {
			u.cfg.Logger.Debug("a token was refused", "err", err)
			unauthenticated(w, "the token is not valid")
			return
		}
		if !id.Service {
			refuseAs(w, http.StatusForbidden, "permission_denied", errors.New("the page shows everybody's messages: the token needs the scope "+auth.ServiceScope))
			return
		}
		ctx, cancel := context.WithDeadline(r.Context(), id.Expires) // a stream ends with its token
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// numeric reports whether a Host header is an address or localhost.
func numeric(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return host == "localhost" || net.ParseIP(host) != nil
}

func unauthenticated(w http.ResponseWriter, why string) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	refuseAs(w, http.StatusUnauthorized, "unauthenticated", errors.New(why))
}
