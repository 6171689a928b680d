package admission

import (
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/limit"
)

// Config states who may connect.
type Config struct {
	Verifier        *auth.Verifier // nil: there are no keys, and ?user_id= names the user
	Origins         []string       // origins of pages, exactly as browsers send them; empty: only this host
	LoopbackOrigins bool           // also allows pages of this machine
	Addresses       *limit.Rates   // rates of handshakes, by address
	Audit           *audit.Log     // log of refusals; nil: none
	Logger          *slog.Logger
}

// Door judges requests for a socket.
type Door struct {
	cfg            Config
	refusedOrigins rate.Sometimes // limits the log of refused pages to one line a minute
}

// New creates a Door.
func New(c Config) *Door { return &Door{cfg: c, refusedOrigins: rate.Sometimes{Interval: time.Minute}} }

// Refuses returns the status and the reason if a request is refused independently of its caller,
// else 0.
func (d *Door) Refuses(r *http.Request) (status int, why string) {
	if !d.cfg.Addresses.Take(limit.Network(r.RemoteAddr)) {
		return http.StatusTooManyRequests, "too many connections from this address: wait a little"
	}
	if !d.originAllowed(r) {
		d.refusedOrigins.Do(func() {
			d.cfg.Logger.WarnContext(r.Context(), "a page may not open sockets: its origin is not on the list (--origins); "+
				"the next is logged in a minute at the earliest", "origin", r.Header.Values("Origin"), "host", r.Host)
		})
		return http.StatusForbidden, "pages of this origin may not connect: it is not on the list (--origins)"
	}
	for name := range r.URL.Query() {
		if n := strings.ToLower(name); strings.Contains(n, "token") || n == "jwt" || n == "authorization" {
			return http.StatusBadRequest, "a token does not belong into a URL, which logs keep: send it as Authorization: Bearer, " +
				"as subprotocol tidemark.bearer.<token>, or in a first frame auth"
		}
	}
	return 0, ""
}

// originAllowed reports whether the page in the request's Origin header may connect. Clients other
// than browsers send no such header. Without a list only pages of this host may connect. Without
// keys that host must also be an address or localhost, because anyone can point a name of their own
// here. Config.LoopbackOrigins adds the pages of this machine.
func (d *Door) originAllowed(r *http.Request) bool {
	list := r.Header.Values("Origin")
	switch {
	case len(list) == 0:
		return true
	case len(list) > 1:
		return false
	case slices.Contains(d.cfg.Origins, list[0]):
		return true
	}
	u, err := url.Parse(list[0])
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return false
	}
	if d.cfg.LoopbackOrigins && loopback(u.Hostname()) {
		return true
	}
	if len(d.cfg.Origins) > 0 || !strings.EqualFold(u.Host, r.Host) {
		return false
	}
	return d.cfg.Verifier != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil
}

// loopback reports whether a browser on this machine resolves host to this machine regardless of
// DNS: browsers do not query DNS for localhost and names below it.
func loopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}
