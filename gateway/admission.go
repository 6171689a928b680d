package gateway

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/auth"
)

// admission says why a request is not even looked at: 0 if it is.
func (g *Gateway) admission(r *http.Request) (status int, why string) {
	if ready, lines := g.Ready(); !ready {
		return http.StatusServiceUnavailable, strings.Join(lines, "\n")
	}
	if !g.addresses.allow(address(r)) {
		return http.StatusTooManyRequests, "too many connections from this address: wait a little"
	}
	if !g.originAllowed(r) {
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

// address is where a request comes from, without the port: of IPv6 the network of 64 bits, within which whoever has one
// address has them all.
func address(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip := from.Addr().Unmap().WithZone("")
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return ip.String()
}

// originAllowed judges the page that a browser says the request is from; what is no browser says nothing. Without a list
// only pages of this very host may connect, and without keys only if that host is no name which somebody else could make
// point here.
func (g *Gateway) originAllowed(r *http.Request) bool {
	list := r.Header.Values("Origin")
	switch {
	case len(list) == 0:
		return true
	case len(list) > 1:
		return false
	case len(g.cfg.Origins) > 0:
		return slices.Contains(g.cfg.Origins, list[0])
	}
	u, err := url.Parse(list[0])
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || !strings.EqualFold(u.Host, r.Host) {
		return false
	}
	return g.cfg.Verifier != nil || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()) != nil
}

// identity is who connects, as far as the request says.
type identity struct {
	user    string // empty: the first frame says
	named   string // whom the URL names, which the first frame's token has to allow
	token   string
	expires time.Time // zero: never
	denied  bool      // the token is not valid, and only a close can tell
}

// identify finds out who asks. A browser is not told the status of a refused handshake, so what is wrong with a token in
// a subprotocol is said by the code of a close.
func (g *Gateway) identify(r *http.Request) (who identity, status int, why string) {
	named := r.URL.Query().Get("user_id")
	if g.cfg.Verifier == nil {
		if !events.ValidID([]byte(named)) {
			return who, http.StatusBadRequest, "this node has no keys, so the URL has to say who connects: /v1/socket?user_id=<id>"
		}
		return identity{user: named}, 0, ""
	}
	token, from := bearer(r)
	if from == fromNowhere {
		return identity{named: named}, 0, ""
	}
	who, err := g.judge(r.Context(), token, named)
	switch {
	case err == nil:
		return who, 0, ""
	case from == fromProtocol:
		return identity{denied: true}, 0, ""
	}
	return who, http.StatusUnauthorized, "the token is not valid"
}

// judge verifies a token. A service token may name the user it connects for; a user's token is its own user.
func (g *Gateway) judge(ctx context.Context, token, named string) (identity, error) {
	id, err := g.cfg.Verifier.Verify(ctx, token)
	if err != nil {
		g.cfg.Logger.Debug("a token was refused", "err", err)
		return identity{}, err
	}
	user := id.Subject
	switch {
	case named == "" || named == user:
	case id.Service:
		user = named
	default:
		return identity{}, auth.ErrInvalid
	}
	if !events.ValidID([]byte(user)) {
		return identity{}, auth.ErrInvalid
	}
	return identity{user: user, token: token, expires: id.Expires}, nil
}

// Where a token was.
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

// protocols are the subprotocols that the client offers.
func protocols(r *http.Request) (list []string) {
	for _, h := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(h, ",") {
			list = append(list, strings.TrimSpace(p))
		}
	}
	return list
}

// firstFrame waits for the frame auth, whose token has to allow the user that the URL names, if it names one. The frame's
// id is returned as far as it was read. Who says nothing is closed with the code of a missing token: a read that is given
// up would end the connection without one.
func (g *Gateway) firstFrame(c *conn, named string) (identity, frameID, error) {
	silent := time.AfterFunc(g.cfg.Limits.AuthTimeout, func() { _ = c.ws.Close(CloseToken, "no token came") })
	defer silent.Stop()
	kind, body, err := c.ws.Read(c.ctx)
	if err != nil {
		return identity{}, nil, err
	}
	silent.Stop() // it spoke: judging has a time of its own
	if kind != websocket.MessageText {
		return identity{}, nil, auth.ErrInvalid
	}
	f, err := parse(body)
	if err != nil || f.Type != "auth" {
		return identity{}, f.ID, auth.ErrInvalid
	}
	ctx, cancel := context.WithTimeout(c.ctx, g.cfg.Limits.AuthTimeout)
	defer cancel()
	who, err := g.judge(ctx, f.Token, named)
	return who, f.ID, err
}
