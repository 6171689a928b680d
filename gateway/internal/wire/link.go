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
	// corkBytes is how much is gathered before it is written: frames that wait together leave in
	// one write.
	corkBytes = 64 << 10
	// closeGrace is how long a connection that closes may take to write what was gathered for it.
	closeGrace = 100 * time.Millisecond
)

var corks = sync.Pool{New: func() any { b := make([]byte, 0, corkBytes+4096); return &b }}

// link is the connection below a WebSocket. While it is corked, it gathers writes. Each write to
// the network has to be done within timeout. One that fails may have sent a part of a frame, so
// nothing can be written after it.
type link struct {
	net.Conn
	timeout time.Duration
	sent    func(bytes int)

	closing atomic.Bool

	mu     sync.Mutex
	corked *[]byte // nil: writes go out at once
}

// send writes a text frame for each item, together where they are small.
func (l *link) send(ws *websocket.Conn, batch []Item) error {
	l.cork()
	var failed error
	for i := range batch {
		// The context never ends: the link has its own deadline, and one for each frame would cost
		// much.
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

// Close closes the connection. What is gathered may say why it closes, so Close writes it first,
// for no longer than closeGrace.
func (l *link) Close() error {
	l.closing.Store(true)
	_ = l.SetWriteDeadline(time.Now().Add(closeGrace)) // for a write under way, which holds the lock
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
		if l.closing.Load() { // checked after the deadline is set: a later Close sets its own
			_ = l.SetWriteDeadline(time.Now().Add(min(l.timeout, closeGrace))) // the write reports what is wrong
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
