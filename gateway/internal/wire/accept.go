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

// readBuffer and writeBuffer are those of a connection for as long as it lives. Commands are small,
// and what is written is gathered in a link's buffer, which exists only while there is something.
const readBuffer, writeBuffer = 512, 512

// Handshake says what a request becomes.
type Handshake struct {
	Instance     string
	Number       uint64   // counts the gateway's connections: their turns to be pinged are spread by it
	Subprotocols []string // to answer with, if the client offers one of them
	// MayPing is called for each ping of the client, which is answered if it returns true, and for
	// each pong: nobody has to ask for one.
	MayPing func() bool
}

// Accept makes a request a socket. If it fails, it has answered the request.
func Accept(w http.ResponseWriter, r *http.Request, s *Settings, h Handshake) (*Conn, error) {
	l := &link{timeout: s.WriteTimeout, sent: func(n int) { s.Bytes.Add(float64(n)) }}
	done := false
	defer func() {
		if !done && l.Conn != nil { // a panic: the HTTP server closes nothing that was hijacked
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

// Hijack takes over the connection with buffers of its own: those of the HTTP server are larger
// than a socket needs.
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{}) // the server has set those of a request
	below := conn
	for {
		above, ok := below.(interface{ NetConn() net.Conn }) // of crypto/tls, and of the edge
		if !ok {
			break
		}
		below = above.NetConn()
	}
	if tcp, ok := below.(interface{ SetWriteBuffer(int) error }); ok {
		_ = tcp.SetWriteBuffer(4 * corkBytes) // bounds what the kernel takes for a slow client
	}
	early := make([]byte, rw.Reader.Buffered())
	if n, _ := rw.Read(early); n < len(early) { // out of the buffer: all of it
		early = early[:n]
	}
	h.link.Conn = conn
	reader := bufio.NewReaderSize(h.link, max(readBuffer, len(early)))
	if len(early) > 0 {
		h.link.Conn = &replay{Conn: conn, rest: early}
		_, _ = reader.Peek(len(early)) // fills the buffer, where the caller looks for them
		h.link.Conn = conn
	}
	return h.link, bufio.NewReadWriter(reader, bufio.NewWriterSize(h.link, writeBuffer)), nil
}

// replay returns what was read before, then ends.
type replay struct {
	net.Conn
	rest []byte
}

// Read returns what is left.
func (r *replay) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
