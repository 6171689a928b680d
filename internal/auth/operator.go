package auth

import (
	"net"
	"net/http"
	"strings"
)

// Refusal is why somebody may not see or do what an operator may.
type Refusal struct {
	Status        int    // of HTTP
	Code, Message string // Code is one of the queries' errors
	Err           error  // for the log; nil: the message says all
}

// Operator judges a request for what shows or does everything: where there are keys (v) it needs a token of scope service,
// and the identity says until when that is valid. Without keys everybody who reaches the node may (it listens on loopback
// only, or was told otherwise in so many words), but no page of another site, which might have made its own name point
// here: the address has to be a number or localhost.
func Operator(v *Verifier, r *http.Request) (Identity, *Refusal) {
	if v == nil {
		if !numeric(r.Host) {
			return Identity{}, &Refusal{Status: http.StatusForbidden, Code: "permission_denied",
				Message: "this node has no keys, so it answers this at an IP address or localhost only, not at a name"}
		}
		return Identity{Service: true}, nil
	}
	token, ok := Bearer(r.Header)
	if !ok {
		return Identity{}, &Refusal{Status: http.StatusUnauthorized, Code: "unauthenticated", Message: "no token: send it as Authorization: Bearer"}
	}
	id, err := v.Verify(r.Context(), token)
	if err != nil {
		return Identity{}, &Refusal{Status: http.StatusUnauthorized, Code: "unauthenticated", Message: "the token is not valid", Err: err}
	}
	if !id.Service {
		return Identity{}, &Refusal{Status: http.StatusForbidden, Code: "permission_denied",
			Message: "this is for those who run the node: the token needs the scope " + ServiceScope}
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
