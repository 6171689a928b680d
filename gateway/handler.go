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

	"github.com/tidemark/tidemark/gateway/internal/admission"
	"github.com/tidemark/tidemark/gateway/internal/frames"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/limit"
	"github.com/tidemark/tidemark/internal/obs"
)

// subprotocol is what a client may offer besides the subprotocol with its token. The answer then
// names this one and not the token.
const subprotocol = "tidemark.v1"

// ServeHTTP is GET /v1/socket.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, why := g.refuses(r)
	if status != 0 {
		g.metrics.handshakes.WithLabelValues(strconv.Itoa(status)).Inc()
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(1+rand.IntN(5)))
		}
		g.door.NoteStatus(r, status, why)
		http.Error(w, why, status)
		return
	}
	who, status, why := g.door.Identify(r)
	if status != 0 {
		g.metrics.handshakes.WithLabelValues(strconv.Itoa(status)).Inc()
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		g.door.NoteStatus(r, status, why)
		http.Error(w, why, status)
		return
	}
	taken := false // the connection's goroutine releases the slot
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
	// The rest runs in a goroutine of its own, so that the HTTP server frees the memory of the
	// request.
	guard.Go("a connection", c.Panicked, func() {
		defer g.open.Done()
		defer g.count.Add(-1)
		g.serve(c, who)
	})
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
	c := &conn{g: g, load: g.load, remote: r.RemoteAddr, address: limit.Network(r.RemoteAddr)}
	// A browser fails a connection if none of its offers is chosen. The offer with the token is
	// chosen only if there is no other.
	chosen := []string{subprotocol}
	if offered := admission.Protocols(r); !slices.Contains(offered, subprotocol) {
		chosen = nil
		for _, p := range offered {
			if strings.HasPrefix(p, auth.SubprotocolPrefix) {
				chosen = []string{p}
			}
		}
	}
	var err error
	c.Conn, err = wire.Accept(w, r, g.wire, wire.Handshake{
		Instance: g.id[:10] + "-" + strconv.FormatUint(number, 36), Number: number, Subprotocols: chosen, MayPing: c.mayAsk,
	})
	return c, err
}

// serve runs a connection until it ends.
func (g *Gateway) serve(c *conn, who admission.Identity) {
	defer c.End()
	if who.Denied {
		c.deny()
		return
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
			return
		}
	}
	c.bearer = who.Bearer
	if !g.arrivals.Take(who.User) {
		c.refuse(who.Bearer, "too many connections: wait a little")
		return
	}
	u, ok := g.hubs.of(who.User).connect(c, who.User, g.cfg.Limits.PerUser)
	if !ok {
		c.refuse(who.Bearer, "this user has as many connections as one may have")
		return
	}
	defer g.leave(c)
	defer g.cfg.Verifier.Hold(who.Bearer, func(why error) {
		reason := "the token has expired: connect again with another"
		if errors.Is(why, auth.ErrRevoked) {
			reason = "the token was revoked: connect again with another"
			g.door.Note(c.Context(), who.Bearer, c.remote, admission.NotAuthenticated, reason)
		}
		c.Shut(CloseToken, reason)
	})()
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
		return // the client has gone
	}
	if g.draining.Load() { // it came after drain closed all others
		c.Shut(CloseElsewhere, sentElsewhere)
	}
	u.hub.mu.With(func() { c.startLoad() })
	err := c.Read(func(body []byte) {
		if c.mayAsk() {
			g.handle(c, body)
		} else if c.refused <= g.cfg.Limits.FramesBurst {
			cmd, _ := frames.Parse(body)
			c.SendNow(frames.Failure(cmd.ID, frames.Refuse(frames.Exhausted, "too many frames: wait a little")))
		}
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

// leave removes a connection from its user.
func (g *Gateway) leave(c *conn) {
	if last := c.user.hub.disconnect(c); last && g.presence != nil {
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
	l := &g.cfg.Limits
	b := frames.Text(frames.Begin(make([]byte, 0, 256), "hello"), "user_id", u.id)
	b = frames.Text(b, "instance_id", c.Instance)
	if id := obs.RequestID(c.Context()); id != "" {
		b = frames.Text(b, "request_id", id)
	}
	b = append(frames.Key(b, "limits"), '{')
	b = frames.Number(b, "frame_bytes", uint64(l.FrameBytes))
	b = frames.Number(b, "focused", uint64(l.Focused))
	b = frames.Number(b, "message_ids", uint64(l.MessageIDs))
	b = frames.Number(b, "frames_per_second", uint64(l.FramesPerSecond))
	b = frames.Number(b, "frames_burst", uint64(l.FramesBurst))
	b = frames.Number(b, "ping_seconds", uint64(l.PingEvery/time.Second))
	return append(b, '}', '}')
}
