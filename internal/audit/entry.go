package audit

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/obs"
)

// Kind is the reason for an entry.
type Kind string

// Kinds of entries.
const (
	Erasure Kind = "erasure" // a call that publishes user_erased
	Admin   Kind = "admin"   // a call that needs the scope admin
	Publish Kind = "publish" // events that a token of scope publish writes
	Refusal Kind = "refusal" // a caller without a valid token, without the right for the call, or with too many calls
	leftOut Kind = "left_out"
)

// OK is the outcome of a successful call. All others are codes of errors, such as
// permission_denied.
const OK = "ok"

// peerName is the caller's name if another node proved itself and named no user.
const peerName = "peer"

// Entry is one line. Time is filled in.
type Entry struct {
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Who     string    `json:"who"`              // sub of the token, or "peer"; empty if the caller proved no identity
	Scopes  string    `json:"scopes,omitempty"` // of the token
	For     string    `json:"for,omitempty"`    // the user of the socket, if the token is another user's
	What    string    `json:"what"`             // a path of this node
	From    string    `json:"from"`             // address of the caller, see --trusted-proxies
	Outcome string    `json:"outcome"`
	Why     string    `json:"why,omitempty"`    // the error that a refused caller got
	Events  int       `json:"events,omitempty"` // how many events the call publishes
	Erased  []string  `json:"erased,omitempty"` // users, in the order of the call
	Level   string    `json:"level,omitempty"`  // the log level that the call chose, and for how long
	Request string    `json:"request_id,omitempty"`
}

// omission is the line that replaces missing lines.
type omission struct {
	Time     time.Time `json:"time"`
	Kind     Kind      `json:"kind"`
	Refusals int       `json:"refusals"` // refusals beyond the limit of a second
	Lost     int       `json:"lost"`     // lines that could not be written
}

// Of returns an entry with the caller in ctx (auth.IdentityOf, auth.FromPeer) and its address.
// remote is an http.Request.RemoteAddr.
func Of(ctx context.Context, kind Kind, what, remote string) Entry {
	e := Entry{Kind: kind, What: what, From: address(remote), Request: obs.RequestID(ctx)}
	if id, known := auth.IdentityOf(ctx); known {
		return e.By(id)
	}
	if auth.FromPeer(ctx) {
		e.Who = peerName
	}
	return e
}

// By returns e as a call of id.
func (e Entry) By(id auth.Identity) Entry {
	e.Who, e.Scopes = id.Subject, id.Scopes.String()
	return e
}

// address is an address without its port, which proxies do not report.
func address(remote string) string {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	return from.Addr().Unmap().String()
}

// outcomeOf is the outcome of a plain HTTP answer, as a code of the query API.
func outcomeOf(status int) string {
	switch {
	case status < http.StatusBadRequest:
		return OK
	case status == http.StatusUnauthorized:
		return "unauthenticated"
	case status == http.StatusForbidden:
		return "permission_denied"
	case status == http.StatusTooManyRequests:
		return "resource_exhausted"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return "unimplemented"
	case status == http.StatusServiceUnavailable:
		return "unavailable"
	case status < http.StatusInternalServerError:
		return "invalid_argument"
	}
	return "internal"
}

// IsRefusal reports whether an outcome is a refusal.
func IsRefusal(outcome string) bool {
	return outcome == "unauthenticated" || outcome == "permission_denied" || outcome == "resource_exhausted"
}
