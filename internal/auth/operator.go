package auth

import (
	"net"
	"net/http"
	"strings"
)

// Refusal is the reason why a caller may not make an operator's request.
type Refusal struct {
	Status        int    // of HTTP
	Code, Message string // Code is one of the queries' errors
	Err           error  // for the log; nil if the message is complete
}

// Operator checks an operator's request. With keys (v) it requires a token with the scopes needs,
// and the identity expires with the token. Without keys every caller is an operator, because the
// node listens on loopback only, or has --insecure. A page of another site is no operator, but that
// site could make its own name point here. So the Host must be an IP address or localhost.
func Operator(v *Verifier, r *http.Request, needs Scopes) (Identity, *Refusal) {
	if v == nil {
		if !numeric(r.Host) {
			return Identity{}, &Refusal{Status: http.StatusForbidden, Code: "permission_denied",
				Message: "this node has no keys, so it answers this request only at an IP address or localhost, not at a name"}
		}
		return Identity{Scopes: ScopeService}, nil
	}
	token, ok := Bearer(r.Header)
	if !ok {
		return Identity{}, &Refusal{Status: http.StatusUnauthorized, Code: "unauthenticated", Message: "no token: send it as Authorization: Bearer"}
	}
	id, err := v.Verify(r.Context(), token)
	if err != nil {
		return Identity{}, &Refusal{Status: http.StatusUnauthorized, Code: "unauthenticated", Message: "the token is not valid", Err: err}
	}
	if !id.Scopes.May(needs) {
		return id, &Refusal{Status: http.StatusForbidden, Code: "permission_denied",
			Message: "this request is for operators: the token needs the scope " + needs.String() + " (or " + serviceName + ")"}
	}
	return id, nil
}

// numeric reports whether a Host header is an address or localhost.
func numeric(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return host == "localhost" || net.ParseIP(host) != nil
}
