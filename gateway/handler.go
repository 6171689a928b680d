package gateway

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"

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

// accept makes the request a socket.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request) (*conn, error) {
	number := g.instances.Add(1)
	c := &conn{g: g, address: address(r), number: number, instance: g.id[:10] + "-" + strconv.FormatUint(number, 36)}
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
