package gateway

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	// corkBytes is how much is gathered before it is written: frames that wait together leave in one write.
	corkBytes = 64 << 10
	// readBuffer and writeBuffer are those of a connection for as long as it lives. Commands are small, and what is
	// written is gathered in a link's buffer, which exists only while there is something.
	readBuffer, writeBuffer = 512, 512
	// closeGrace is how long a connection that is closed may take what was gathered for it.
	closeGrace = 100 * time.Millisecond
)

var corks = sync.Pool{New: func() any { b := make([]byte, 0, corkBytes+4096); return &b }}

// link is the connection below a WebSocket. While it is corked, writes are gathered. Each write to the network has to be
// done within timeout; after one that was not, part of a frame may have gone, and nothing more can be said.
type link struct {
	net.Conn
	timeout time.Duration
	sent    func(bytes int)

	closing atomic.Bool

	mu     sync.Mutex
	corked *[]byte // nil: writes go out at once
}

// send writes a text frame for each item, together where they are small.
func (l *link) send(ws *websocket.Conn, batch []item) error {
	l.cork()
	var failed error
	for i := range batch {
		// Without a context that ends: the link has its own bound, and frames are many.
		if failed = ws.Write(context.Background(), websocket.MessageText, batch[i].body); failed != nil {
			break
		}
	}
	return errors.Join(failed, l.uncork())
}

// Write writes or gathers b.
func (l *link) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.corked == nil {
		return l.write(b)
	}
	*l.corked = append(*l.corked, b...)
	if len(*l.corked) >= corkBytes {
		if err := l.flush(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (l *link) cork() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.corked == nil {
		l.corked = corks.Get().(*[]byte)
	}
}

// uncork writes what was gathered.
func (l *link) uncork() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.corked == nil {
		return nil
	}
	err := l.flush()
	if cap(*l.corked) <= 4*corkBytes {
		corks.Put(l.corked)
	}
	l.corked = nil
	return err
}

func (l *link) flush() error {
	if len(*l.corked) == 0 {
		return nil
	}
	_, err := l.write(*l.corked)
	*l.corked = (*l.corked)[:0]
	return err
}

// Close closes the connection once what is gathered has been written, which may say why it is closed: for no longer than
// closeGrace.
func (l *link) Close() error {
	l.closing.Store(true)
	_ = l.SetWriteDeadline(time.Now().Add(closeGrace)) // of a write under way, which holds the lock
	l.mu.Lock()
	if l.corked != nil {
		_ = l.flush() // the peer may be gone
	}
	l.mu.Unlock()
	return l.Conn.Close()
}

func (l *link) write(b []byte) (int, error) {
	total := 0
	for len(b) > 0 {
		part := b[:min(len(b), corkBytes)]
		if err := l.SetWriteDeadline(time.Now().Add(l.timeout)); err != nil {
			return total, err
		}
		if l.closing.Load() { // looked at last: a close that comes later sets its own
			_ = l.SetWriteDeadline(time.Now().Add(min(l.timeout, closeGrace))) // the write says what is wrong
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
	below := conn
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok { // of crypto/tls
		below = secured.NetConn()
	}
	if tcp, ok := below.(interface{ SetWriteBuffer(int) error }); ok {
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
