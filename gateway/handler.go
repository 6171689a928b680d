package gateway

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/gateway/internal/admission"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/internal/obs"
)

// ServeHTTP is GET /v1/socket.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var who admission.Identity
	status, why := g.refuses(r)
	if status == 0 {
		who, status, why = g.door.Identify(r)
	}
	if status != 0 {
		g.metrics.handshakes.WithLabelValues(strconv.Itoa(status)).Inc()
		switch status {
		case http.StatusServiceUnavailable, http.StatusTooManyRequests:
			w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		case http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		g.door.NoteStatus(r, status, why)
		http.Error(w, why, status)
		return
	}
	taken := false // end releases the slot
	defer func() {
		if !taken {
			g.count.Add(-1)
		}
	}()
	if g.count.Add(1) > int64(g.cfg.Limits.Connections) {
		g.metrics.handshakes.WithLabelValues("full").Inc()
		w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		http.Error(w, "this gateway has reached its limit of connections: try another", http.StatusServiceUnavailable)
		return
	}
	c, err := g.accept(w, r)
	if err != nil {
		g.metrics.handshakes.WithLabelValues("failed").Inc()
		return // Accept has answered the request
	}
	g.open.Add(1)
	taken = true
	// The rest runs in goroutines of its own, so that the HTTP server frees the memory of the
	// request.
	guard.Go("the beginning of a connection", c.Panicked, func() { g.arrive(c, who) })
}

// refuses returns the status and the reason if a request is refused independently of its caller,
// else 0.
func (g *Gateway) refuses(r *http.Request) (status int, why string) {
	if ready, lines := g.Ready(); !ready {
		return http.StatusServiceUnavailable, strings.Join(lines, "\n")
	}
	return g.door.Refuses(r)
}

// accept upgrades the request to a socket.
func (g *Gateway) accept(w http.ResponseWriter, r *http.Request) (*conn, error) {
	number := g.instances.Add(1)
	c := &conn{g: g, load: g.load, letGo: func() {}, remote: r.RemoteAddr, address: limit.Network(r.RemoteAddr)}
	var err error
	c.Conn, err = wire.Accept(w, r, g.wire, wire.Handshake{
		Instance: g.id[:10] + "-" + strconv.FormatUint(number, 36), Number: number, Subprotocols: admission.Subprotocols(r), MayPing: c.mayAsk,
	})
	return c, err
}

// arrive makes a connection one of its user's devices, and starts its reader. The reader has another
// goroutine: its stack stays as long as the connection, and is half as large as the one that arrive
// needs.
func (g *Gateway) arrive(c *conn, who admission.Identity) {
	reads := false
	defer func() {
		if !reads {
			g.end(c)
		}
	}()
	if reads = g.welcome(c, who); reads {
		guard.Go("a connection", c.Panicked, func() {
			defer g.end(c)
			g.listen(c)
		})
	}
}

// end releases what a connection holds.
func (g *Gateway) end(c *conn) {
	defer g.open.Done()
	defer g.count.Add(-1)
	defer c.End()
	defer g.leave(c)
	c.letGo()
}

// welcome identifies the user of a connection, greets them and begins to read their inbox. It
// returns false if the connection has ended.
func (g *Gateway) welcome(c *conn, who admission.Identity) bool {
	if who.Denied {
		c.deny()
		return false
	}
	var first frames.ID // id of the frame with the token; empty if it needs no answer
	if who.User == "" {
		var err error
		if who, first, err = g.firstFrame(c, who.Named); err != nil {
			if len(first) > 0 {
				refused := frames.Failure(first, frames.Refuse("unauthenticated", "auth: no valid token"))
				_ = c.WriteFirst(wire.Item{Frame: frames.Ready(refused)}) // the close has the same reason
			}
			c.deny()
			return false
		}
	}
	c.bearer = who.Bearer
	if !g.arrivals.Take(who.User) {
		c.refuse(who.Bearer, "too many connections: wait a little")
		return false
	}
	u, ok := g.hubs.of(who.User).connect(c, who.User, g.cfg.Limits.PerUser)
	if !ok {
		c.refuse(who.Bearer, "this user has as many connections as one may have")
		return false
	}
	c.letGo = g.cfg.Verifier.Hold(who.Bearer, func(why error) {
		reason := "the token has expired: connect again with another"
		if errors.Is(why, auth.ErrRevoked) {
			reason = "the token was revoked: connect again with another"
			g.door.Note(c.Context(), who.Bearer, c.remote, admission.NotAuthenticated, reason)
		}
		c.Shut(CloseToken, reason)
	})
	g.metrics.handshakes.WithLabelValues("accepted").Inc()
	g.plant("serve")
	if g.presence != nil {
		g.presence.Arrived(u.id)
	}
	greeting := []wire.Item{{Frame: frames.Ready(g.helloFrame(c, u))}}
	if len(first) > 0 {
		greeting = append(greeting, wire.Item{Frame: frames.Ready(frames.Ack(first, nil))})
	}
	if c.WriteFirst(greeting...) != nil {
		return false // the client has gone
	}
	if g.draining.Load() { // it came after drain closed all others
		c.Shut(CloseElsewhere, sentElsewhere)
	}
	u.hub.mu.With(func() { c.startLoad() })
	return true
}

// listen handles the frames of a connection until it ends, one after the other. Each has a goroutine
// of its own, so that the reader's stack stays small.
func (g *Gateway) listen(c *conn) {
	err := c.Read(func(body []byte) {
		handled := make(chan struct{})
		guard.Go("a frame", c.Panicked, func() {
			defer close(handled)
			if c.mayAsk() {
				g.handle(c, body)
			} else if c.refused <= g.cfg.Limits.FramesBurst {
				cmd, _ := frames.Parse(body)
				c.SendNow(frames.Failure(cmd.ID, frames.Refuse(frames.Exhausted, "too many frames: wait a little")))
			}
		})
		<-handled
	})
	if websocket.CloseStatus(err) == -1 && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && c.Context().Err() == nil {
		g.cfg.Logger.DebugContext(c.Context(), "a connection broke", "instance", c.Instance, "err", err)
	}
}

// firstFrame waits for the frame auth. Its token must be valid for the user that the URL names, if
// it names one. firstFrame returns the frame's id even with an error, if it was read.
func (g *Gateway) firstFrame(c *conn, named string) (admission.Identity, frames.ID, error) {
	body, text, err := c.First(g.cfg.Limits.AuthTimeout, CloseToken, "no token came")
	if err != nil {
		return admission.Identity{}, nil, err
	}
	if !text {
		return admission.Identity{}, nil, auth.ErrInvalid
	}
	f, err := frames.Parse(body)
	if err != nil || f.Type != "auth" {
		return admission.Identity{}, f.ID, auth.ErrInvalid
	}
	ctx, cancel := context.WithTimeout(c.Context(), g.cfg.Limits.AuthTimeout)
	defer cancel()
	who, err := g.door.Judge(ctx, f.Token, named)
	return who, f.ID, err
}

// mayAsk counts a frame, ping or pong against the rates of the user and of the address, and reports
// whether it is allowed. It closes a connection with more than FramesBurst refusals. Each allowed
// frame cancels one refusal, so that a connection of weeks does not end by their sum. Only the
// reader calls it.
func (c *conn) mayAsk() bool {
	g := c.g
	if (c.user == nil || g.commands.Take(c.user.id)) && g.crowds.Take(c.address) {
		c.refused = max(0, c.refused-1)
		return true
	}
	g.metrics.refused.Inc()
	if c.refused++; c.refused > g.cfg.Limits.FramesBurst {
		const why = "too many frames: wait longer"
		if c.refused == g.cfg.Limits.FramesBurst+1 {
			g.door.Note(c.Context(), c.bearer, c.remote, admission.Exhausted, why)
		}
		c.Shut(CloseRate, why)
	}
	return false
}

// leave removes a connection from its user, if it has one.
func (g *Gateway) leave(c *conn) {
	if c.user != nil && c.user.hub.disconnect(c) && g.presence != nil {
		g.presence.Left(c.user.id)
	}
}

// deny closes a connection without a valid token.
func (c *conn) deny() {
	const why = "no valid token"
	c.g.door.Note(c.Context(), auth.Identity{}, c.remote, admission.NotAuthenticated, why)
	c.closeNow(CloseToken, why)
}

// refuse closes a connection of a user with too many connections.
func (c *conn) refuse(id auth.Identity, why string) {
	c.g.door.Note(c.Context(), id, c.remote, admission.Exhausted, why)
	c.closeNow(CloseRate, why)
}

// closeNow closes a connection for which nothing was queued yet.
func (c *conn) closeNow(code websocket.StatusCode, reason string) {
	c.g.metrics.handshakes.WithLabelValues(strconv.Itoa(int(code))).Inc()
	c.Close(code, reason)
}

// helloFrame returns the frame with the client's identity and limits.
func (g *Gateway) helloFrame(c *conn, u *user) []byte {
	b := frames.Text(frames.Begin(make([]byte, 0, 256), "hello"), "user_id", u.id)
	b = frames.Text(b, "instance_id", c.Instance)
	if id := obs.RequestID(c.Context()); id != "" {
		b = frames.Text(b, "request_id", id)
	}
	return append(admission.AppendLimits(b, &g.cfg.Limits), '}')
}
