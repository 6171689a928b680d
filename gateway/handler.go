package gateway

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/auth"
)

// subprotocol is what a client may offer beside the one that carries its token, to be answered with this one instead.
const subprotocol = "tidemark.v1"

// ServeHTTP is GET /v1/socket.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, why := g.admission(r)
	if status != 0 {
		g.metrics.handshakes.WithLabelValues(strconv.Itoa(status)).Inc()
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		}
		http.Error(w, why, status)
		return
	}
	who, status, why := g.identify(r)
	if status != 0 {
		g.metrics.handshakes.WithLabelValues(strconv.Itoa(status)).Inc()
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		http.Error(w, why, status)
		return
	}
	if g.count.Add(1) > int64(g.cfg.Limits.Connections) {
		g.count.Add(-1)
		g.metrics.handshakes.WithLabelValues("full").Inc()
		w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		http.Error(w, "this gateway has as many connections as it takes: try another", http.StatusServiceUnavailable)
		return
	}
	c, err := g.accept(w, r)
	if err != nil {
		g.count.Add(-1)
		g.metrics.handshakes.WithLabelValues("failed").Inc()
		return // the answer was written
	}
	g.open.Add(1)
	// The rest runs in a goroutine of its own, so that what the HTTP server needed for the request is given back.
	go func() {
		defer g.open.Done()
		defer g.count.Add(-1)
		g.serve(c, who)
	}()
}

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

// accept makes the request a socket.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request) (*conn, error) {
	c := &conn{g: g, address: address(r), instance: g.id[:10] + "-" + strconv.FormatUint(g.instances.Add(1), 36)}
	c.link = &link{timeout: g.cfg.Limits.WriteTimeout, sent: func(n int) { g.metrics.bytes.Add(float64(n)) }}
	// A browser fails a connection whose offer is not answered; the token goes back only if there is nothing else.
	chosen := []string{subprotocol}
	if offered := protocols(r); !slices.Contains(offered, subprotocol) {
		chosen = nil
		for _, p := range offered {
			if strings.HasPrefix(p, auth.SubprotocolPrefix) {
				chosen = []string{p}
			}
		}
	}
	ws, err := websocket.Accept(&hijack{w, c.link}, r, &websocket.AcceptOptions{
		Subprotocols: chosen, CompressionMode: websocket.CompressionDisabled, InsecureSkipVerify: true, // Origin was judged
		OnPingReceived: func(context.Context, []byte) bool { return c.mayAsk() },
		OnPongReceived: func(context.Context, []byte) { c.mayAsk() }, // nobody has to ask for a pong
	})
	if err != nil {
		return nil, err
	}
	ws.SetReadLimit(int64(g.cfg.Limits.FrameBytes))
	c.ws = ws
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// serve is the life of a connection.
func (g *Gateway) serve(c *conn, who identity) {
	defer func() {
		c.cancel()
		_ = c.ws.CloseNow() // it has ended
	}()
	if who.denied {
		c.deny()
		return
	}
	var first frameID // of the frame that brought the token, if it wants an answer
	if who.user == "" {
		var err error
		if who, first, err = g.firstFrame(c, who.named); err != nil {
			if len(first) > 0 {
				refused := errorFrame(first, refuse("unauthenticated", "auth: no valid token"))
				_ = c.link.send(c.ws, []item{{body: refused}}) // the close says the same
			}
			c.deny()
			return
		}
	}
	if !g.arrivals.allow(who.user) {
		c.closeNow(CloseRate, "too many connections: wait a little")
		return
	}
	c.token = who.token
	u, ok := g.hub.connect(c, who.user, g.cfg.Limits.PerUser)
	if !ok {
		c.closeNow(CloseRate, "this user has as many connections as one may have")
		return
	}
	defer g.leave(c)
	if !who.expires.IsZero() {
		expiry := time.AfterFunc(time.Until(who.expires), func() { c.shut(CloseToken, "the token has expired: connect again with another") })
		defer expiry.Stop()
	}
	g.metrics.handshakes.WithLabelValues("accepted").Inc()
	if g.presence != nil {
		g.presence.arrived(u.id)
	}
	greeting := []item{{body: g.helloFrame(c, u)}}
	if len(first) > 0 {
		greeting = append(greeting, item{body: ackFrame(first, nil)})
	}
	if c.link.send(c.ws, greeting) != nil {
		return // gone before it began
	}
	if g.draining.Load() { // it came after everybody was sent away
		c.shut(CloseElsewhere, sentElsewhere)
	}
	g.hub.mu.Lock()
	g.startLoad(c)
	g.hub.mu.Unlock()
	err := c.read(func(body []byte) {
		if c.mayAsk() {
			g.handle(c, body)
		} else if c.refused <= g.cfg.Limits.FramesBurst {
			cmd, _ := parse(body)
			c.sendNow(errorFrame(cmd.ID, refuse(codeExhausted, "too many frames: wait a little")))
		}
	})
	if websocket.CloseStatus(err) == -1 && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && c.ctx.Err() == nil {
		g.cfg.Logger.Debug("a connection broke", "instance", c.instance, "err", err)
	}
}

// mayAsk takes one frame, ping or pong from the shares of the user and of the address. Whoever goes on without a share is
// closed; who has had one since is forgiven as many, so that a connection of weeks does not end by its sum. Called by the
// reader alone.
func (c *conn) mayAsk() bool {
	g := c.g
	if (c.user == nil || g.commands.allow(c.user.id)) && g.crowds.allow(c.address) {
		c.refused = max(0, c.refused-1)
		return true
	}
	g.metrics.refused.Inc()
	if c.refused++; c.refused > g.cfg.Limits.FramesBurst {
		c.shut(CloseRate, "too many frames: wait longer")
	}
	return false
}

// leave ends what serve began.
func (g *Gateway) leave(c *conn) {
	if last := g.hub.disconnect(c); last && g.presence != nil {
		g.presence.left(c.user.id)
	}
}

// deny closes a connection that nobody was found for.
func (c *conn) deny() { c.closeNow(CloseToken, "no valid token") }

// closeNow closes a connection that nothing was queued for yet.
func (c *conn) closeNow(code websocket.StatusCode, reason string) {
	c.g.metrics.handshakes.WithLabelValues(strconv.Itoa(int(code))).Inc()
	_ = c.ws.Close(code, reason) // the peer may be gone
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

// helloFrame says who the client is and what it may do.
func (g *Gateway) helloFrame(c *conn, u *user) []byte {
	l := &g.cfg.Limits
	b := text(begin(make([]byte, 0, 256), "hello"), "user_id", u.id)
	b = text(b, "instance_id", c.instance)
	b = append(key(b, "limits"), '{')
	b = number(b, "frame_bytes", uint64(l.FrameBytes))
	b = number(b, "focused", uint64(l.Focused))
	b = number(b, "message_ids", uint64(l.MessageIDs))
	b = number(b, "frames_per_second", uint64(l.FramesPerSecond))
	b = number(b, "frames_burst", uint64(l.FramesBurst))
	b = number(b, "ping_seconds", uint64(l.PingEvery/time.Second))
	return append(b, '}', '}')
}
