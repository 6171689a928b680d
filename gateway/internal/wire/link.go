package wire

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

const (
	// corkBytes is how much is gathered before a write: frames that wait together are sent in one
	// write.
	corkBytes = 64 << 10
	// closeGrace is how long a closing connection may take to write gathered data.
	closeGrace = 100 * time.Millisecond
)

var corks = sync.Pool{New: func() any { b := make([]byte, 0, corkBytes+4096); return &b }}

// link is the connection below a WebSocket. While it is corked, it gathers writes. Each write to
// the network must finish within timeout. A failed write may have sent a part of a frame, so
// nothing can be written after it.
type link struct {
	net.Conn
	timeout time.Duration
	sent    func(bytes int)

	closing atomic.Bool

	mu     sync.Mutex
	corked *[]byte // nil: writes are not gathered
}

// send writes a text frame for each item, and small ones together.
func (l *link) send(ws *websocket.Conn, batch []Item) error {
	l.cork()
	var failed error
	for i := range batch {
		// The context never ends: the link has its own deadline, and a context for each frame would
		// be expensive.
		if failed = ws.Write(context.Background(), websocket.MessageText, batch[i].Bytes()); failed != nil {
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

// uncork writes the gathered data.
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

// Close closes the connection. The gathered data may contain the reason, so Close writes it first,
// within closeGrace.
func (l *link) Close() error {
	l.closing.Store(true)
	_ = l.SetWriteDeadline(time.Now().Add(closeGrace)) // for a write in progress, which holds the lock
	l.flushLast()
	return l.Conn.Close()
}

func (l *link) flushLast() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.corked != nil {
		_ = l.flush() // the peer may be gone
	}
}

func (l *link) write(b []byte) (int, error) {
	total := 0
	for len(b) > 0 {
		part := b[:min(len(b), corkBytes)]
		if err := l.SetWriteDeadline(time.Now().Add(l.timeout)); err != nil {
			return total, err
		}
		if l.closing.Load() { // checked after the deadline is set: a later Close sets its own
			_ = l.SetWriteDeadline(time.Now().Add(min(l.timeout, closeGrace))) // the write reports a failure
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
