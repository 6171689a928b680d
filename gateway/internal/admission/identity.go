package admission

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/auth"
)

// Identity is the caller's identity, as far as the request has it.
type Identity struct {
	User   string // empty: the first frame has the token
	Named  string // the user that the URL names; the first frame's token must be valid for them
	Bearer auth.Identity
	Denied bool // the token is invalid: close the connection
}

// Identify determines the caller. Browsers hide the status of a refused handshake from pages, so an
// invalid token in a subprotocol is answered with a close code.
func (d *Door) Identify(r *http.Request) (who Identity, status int, why string) {
	named := r.URL.Query().Get("user_id")
	if d.cfg.Verifier == nil {
		if !validUser(named) {
			return who, http.StatusBadRequest, "this node has no keys, so the URL has to say who connects: /v1/socket?user_id=<id>"
		}
		return Identity{User: named}, 0, ""
	}
	token, from := bearer(r)
	if from == fromNowhere {
		return Identity{Named: named}, 0, ""
	}
	who, err := d.Judge(r.Context(), token, named)
	switch {
	case err == nil:
		return who, 0, ""
	case from == fromProtocol:
		return Identity{Denied: true}, 0, ""
	}
	return who, http.StatusUnauthorized, "the token is not valid"
}

// validUser reports whether id can be a user's id. A URL may contain bytes that are not UTF-8;
// encoders would replace them, and the id would become another user's.
func validUser(id string) bool { return utf8.ValidString(id) && events.ValidID([]byte(id)) }

// Judge verifies a token. A token with the scopes read and publish may connect for the named user;
// any other one only for its own user.
func (d *Door) Judge(ctx context.Context, token, named string) (Identity, error) {
	id, err := d.cfg.Verifier.Verify(ctx, token)
	if err != nil {
		d.cfg.Logger.DebugContext(ctx, "a token was refused", "err", err)
		return Identity{}, err
	}
	user := id.Subject
	switch {
	case named == "" || named == user:
	case id.Scopes.May(auth.ScopeRead | auth.ScopePublish): // a socket reads and writes
		user = named
	default:
		return Identity{}, auth.ErrInvalid
	}
	if !validUser(user) {
		return Identity{}, auth.ErrInvalid
	}
	return Identity{User: user, Bearer: id}, nil
}

// Where a request had its token.
const (
	fromNowhere = iota
	fromHeader
	fromProtocol
)

func bearer(r *http.Request) (token string, from int) {
	if token, ok := auth.Bearer(r.Header); ok {
		return token, fromHeader
	}
	for _, p := range protocols(r) {
		if t, ok := strings.CutPrefix(p, auth.SubprotocolPrefix); ok {
			return t, fromProtocol
		}
	}
	return "", fromNowhere
}

// subprotocol is what a client may offer besides the subprotocol with its token. The answer then
// names this one and not the token.
const subprotocol = "tidemark.v1"

// Subprotocols returns the subprotocols that the answer may name. A browser fails a connection if
// the answer names none of its offers. The offer with the token is named only if there is no other.
func Subprotocols(r *http.Request) []string {
	offered := protocols(r)
	if slices.Contains(offered, subprotocol) {
		return []string{subprotocol}
	}
	return slices.DeleteFunc(offered, func(p string) bool { return !strings.HasPrefix(p, auth.SubprotocolPrefix) })
}

// protocols returns the subprotocols that the client offers.
func protocols(r *http.Request) (list []string) {
	for _, h := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(h, ",") {
			list = append(list, strings.TrimSpace(p))
		}
	}
	return list
}
