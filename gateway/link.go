package gateway

import (
	"bufio"
	"encoding/binary"
	"math"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// corkBytes is how much is gathered before it is written: frames that wait together leave in one write.
	corkBytes = 64 << 10
	// readBuffer and writeBuffer are those of a connection for as long as it lives. Commands are small, and what the
	// library writes are frames of control, of 129 bytes at most; what is sent is gathered elsewhere.
	readBuffer, writeBuffer = 512, 256
)

// buffers are what frames are gathered in while a connection sends.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, corkBytes+maxHeader); return &b }}

// maxHeader is the most that a frame has before its payload.
const maxHeader = 10

// link is the connection below a WebSocket. Frames of data are sent by it; those of control, and what it takes to read,
// are the library's, which writes a frame of control at once: so frames never mix. Each write to the network has to be
// done within timeout; after one that was not, part of a frame may have gone, and nothing more can be said.
type link struct {
	net.Conn
	timeout time.Duration
	sent    func(bytes int)

	mu     sync.Mutex
	closed bool // a close has been sent: no data may follow
}

const (
	finText      = 0x81 // the first byte of a frame that is a whole text message
	opcodeMask   = 0x0f
	opcodeClose  = 0x08
	smallPayload = 125 // longer ones have their length in 2 or 8 more bytes
)

// Write writes a frame of control, whole.
func (l *link) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b) > 0 && b[0]&opcodeMask == opcodeClose {
		l.closed = true
	}
	return l.write(b)
}

// send writes a text frame for each item, together where they are small. A server's frames are not masked, so a payload
// that goes to many connections is the same bytes for all of them.
func (l *link) send(batch []item) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	b := (*pooled)[:0]
	for i := range batch {
		body := batch[i].body
		if len(b)+maxHeader+len(body) > corkBytes && len(b) > 0 {
			if _, err := l.write(b); err != nil {
				return err
			}
			b = b[:0]
		}
		b = appendHeader(b, len(body))
		if len(body) <= corkBytes-maxHeader {
			b = append(b, body...)
			continue
		}
		for _, part := range [][]byte{b, body} { // too large to be copied
			if _, err := l.write(part); err != nil {
				return err
			}
		}
		b = b[:0]
	}
	_, err := l.write(b)
	return err
}

// appendHeader begins a text frame (RFC 6455, 5.2).
func appendHeader(b []byte, payload int) []byte {
	switch {
	case payload <= smallPayload:
		return append(b, finText, byte(payload))
	case payload <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, finText, smallPayload+1), uint16(payload))
	}
	return binary.BigEndian.AppendUint64(append(b, finText, smallPayload+2), uint64(payload))
}

func (l *link) write(b []byte) (int, error) {
	total := 0
	for len(b) > 0 {
		part := b[:min(len(b), corkBytes)]
		if err := l.SetWriteDeadline(time.Now().Add(l.timeout)); err != nil {
			return total, err
		}
		n, err := l.Conn.Write(part)
		total += n
		l.sent(n)
		if err != nil {
			return total, err
		}
		b = b[n:]
	}
	return total, nil
}

// hijack is a ResponseWriter whose connection becomes a link.
type hijack struct {
	http.ResponseWriter
	link *link
}

// Hijack takes the connection over, with buffers of its own: those of the HTTP server are larger than a socket needs.
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{}) // the server's are those of a request
	if tcp, ok := conn.(interface{ SetWriteBuffer(int) error }); ok {
		_ = tcp.SetWriteBuffer(4 * corkBytes) // what the kernel takes of a slow client is bounded too
	}
	early := make([]byte, rw.Reader.Buffered())
	if n, _ := rw.Read(early); n < len(early) { // of its own buffer: whole
		early = early[:n]
	}
	h.link.Conn = conn
	reader := bufio.NewReaderSize(h.link, max(readBuffer, len(early)))
	if len(early) > 0 {
		h.link.Conn = &replay{Conn: conn, rest: early}
		_, _ = reader.Peek(len(early)) // so that they are buffered, which is where the caller looks for them
		h.link.Conn = conn
	}
	return h.link, bufio.NewReadWriter(reader, bufio.NewWriterSize(h.link, writeBuffer)), nil
}

// replay gives what was read before, then ends.
type replay struct {
	net.Conn
	rest []byte
}

// Read gives what is left.
func (r *replay) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
