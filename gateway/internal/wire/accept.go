package wire

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/internal/obs"
)

// readBuffer and writeBuffer are the sizes of a connection's permanent buffers. Commands are small,
// and frames are gathered in a link's buffer, which exists only while there is something to write. A
// smaller buffer for writing would make two writes to the link of most frames.
const readBuffer, writeBuffer = 256, 512

// Handshake configures the connection that a request becomes.
type Handshake struct {
	Instance     string
	Number       uint64   // number of the connection at this gateway; it spreads the pings
	Subprotocols []string // subprotocols to answer with, if the client offers one of them
	// MayPing is called for each ping of the client, which is answered if it returns true, and for
	// each pong, because clients may send pongs unasked.
	MayPing func() bool
}

// Accept upgrades a request to a socket. If it fails, it has answered the request.
func Accept(w http.ResponseWriter, r *http.Request, s *Settings, h Handshake) (*Conn, error) {
	l := &link{timeout: s.WriteTimeout, sent: func(n int) { s.Bytes.Add(float64(n)) }}
	done := false
	defer func() {
		if !done && l.Conn != nil { // after a panic: the HTTP server does not close a hijacked connection
			_ = l.Conn.Close()
		}
	}()
	ws, err := websocket.Accept(&hijack{w, l}, r, &websocket.AcceptOptions{
		Subprotocols: h.Subprotocols, CompressionMode: websocket.CompressionDisabled,
		InsecureSkipVerify: true, // the gateway has checked the Origin
		OnPingReceived:     func(context.Context, []byte) bool { return h.MayPing() },
		OnPongReceived:     func(context.Context, []byte) { h.MayPing() },
	})
	if err != nil {
		return nil, err
	}
	if s.Planted != nil {
		s.Planted("accept")
	}
	ws.SetReadLimit(int64(s.FrameBytes))
	c := &Conn{Instance: h.Instance, s: s, number: h.Number, ws: ws, link: l}
	c.ctx, c.cancel = context.WithCancel(obs.CarryRequestID(r.Context()))
	done = true
	return c, nil
}

// hijack is a ResponseWriter whose connection becomes a link when it is hijacked.
type hijack struct {
	http.ResponseWriter
	link *link
}

// Hijack takes over the connection with buffers of its own, because those of the HTTP server are
// larger than a socket needs.
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{}) // the server has set the deadlines of a request
	below := conn
	for {
		above, ok := below.(interface{ NetConn() net.Conn }) // of crypto/tls, and of the edge
		if !ok {
			break
		}
		below = above.NetConn()
	}
	if tcp, ok := below.(interface{ SetWriteBuffer(int) error }); ok {
		_ = tcp.SetWriteBuffer(4 * corkBytes) // limits what the kernel buffers for a slow client
	}
	early := make([]byte, rw.Reader.Buffered())
	if n, _ := rw.Read(early); n < len(early) { // the buffer must return all of it
		early = early[:n]
	}
	h.link.Conn = conn
	reader := bufio.NewReaderSize(h.link, max(readBuffer, len(early)))
	if len(early) > 0 {
		h.link.Conn = &replay{Conn: conn, rest: early}
		_, _ = reader.Peek(len(early)) // fills the buffer, in which the caller looks for these bytes
		h.link.Conn = conn
	}
	return h.link, bufio.NewReadWriter(reader, bufio.NewWriterSize(h.link, writeBuffer)), nil
}

// replay returns bytes that were read before, then ends.
type replay struct {
	net.Conn
	rest []byte
}

// Read returns the rest of those bytes.
func (r *replay) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
