package wire

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/gateway/internal/frames"
)

// CloseSlow closes a connection for which more than Settings.QueueBytes waited.
const CloseSlow = 4408

// Settings are the settings of all connections of a gateway. Planted may be nil.
type Settings struct {
	Writers      *Writers
	FrameBytes   int           // size of a client's largest frame
	QueueBytes   int           // how much may wait for a connection; beyond that it is closed with CloseSlow
	WriteTimeout time.Duration // for a client to take corkBytes
	FrameTimeout time.Duration // from the first byte of a client's frame to the last
	PongTimeout  time.Duration // for a ping to be answered
	Logger       *slog.Logger

	Bytes, Frames prometheus.Counter // written bytes and frames
	Slow          prometheus.Counter // connections that ended because the client was too slow
	Closed        func(code websocket.StatusCode)
	// Taken is called with the frames that a connection has taken.
	Taken func(instance string, batch []Item)
	// Planted is called with the name of a place; tests panic in it.
	Planted func(where string)
}

// Conn is one device's socket.
type Conn struct {
	Instance string // identifies the connection to its client and in events
	s        *Settings
	number   uint64 // number of the connection at this gateway
	ws       *websocket.Conn
	link     *link
	ctx      context.Context
	cancel   context.CancelFunc

	stuck    bool   // the client was too slow, so it has a writer of its own; guarded by the lock of Writers
	answered uint32 // number of frames queued and written before the last answered ping; guarded by mu

	mu      sync.Mutex
	queue   queue
	writing bool   // the connection has a turn to write or waits for one
	silent  bool   // nothing was queued between the last two answered pings
	queued  uint32 // number of frames queued so far
	closing closing
}

// closing is the reason to close a connection; zero: none.
type closing struct {
	code   websocket.StatusCode
	reason string
}

// Context is done when the connection has ended. It has the id of the request that became the
// connection.
func (c *Conn) Context() context.Context { return c.ctx }

// Send queues a frame. It never waits. The frame is written after the next Kick.
func (c *Conn) Send(it Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.code != 0 {
		return
	}
	c.queue.add(it)
	c.queued++
	if c.queue.bytes > c.s.QueueBytes {
		c.s.Slow.Inc()
		c.closing = closing{CloseSlow, "too slow: connect again for a fresh inbox"}
		c.queue.clear()
	}
	if c.queue.bytes > corkBytes/4 && !c.writing {
		c.writing = true // enough for a write: do not wait for the rest of a long batch of records
		c.s.Writers.add(c)
	}
}

// Settled reports whether the client has certainly received all queued frames: they were written
// before its last but one ping, it has answered both pings, and nothing followed.
func (c *Conn) Settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent && c.answered == c.queued
}

// Kick makes the connection write what is queued.
func (c *Conn) Kick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writing && (!c.queue.empty() || c.closing.code != 0) {
		c.writing = true
		c.s.Writers.add(c)
	}
}

// SendNow queues a frame and kicks.
func (c *Conn) SendNow(body []byte) {
	c.Send(Item{Frame: frames.Ready(body)})
	c.Kick()
}

// WriteFirst writes frames before anything was queued, and waits until they are written.
func (c *Conn) WriteFirst(batch ...Item) error { return c.link.send(c.ws, batch) }

// DropChannel drops queued frames about a channel that the user may no longer see. It reports
// whether it dropped an inbox, so that the connection needs another.
func (c *Conn) DropChannel(id string) (another bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.dropChannel(id)
}

// DropValues empties the queue before a fresh inbox is sent. It drops the frames that the inbox
// replaces and returns the others, which the caller sends after it.
func (c *Conn) DropValues() []Item {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.dropValues()
}

// Shut closes the connection with a code after the current write. It drops queued frames, because a
// client that reconnects gets a new snapshot.
func (c *Conn) Shut(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	if c.closing.code == 0 {
		c.closing = closing{code, reason}
		c.queue.clear()
	}
	c.mu.Unlock()
	c.Kick()
}

// Close closes a connection for which nothing was queued yet.
func (c *Conn) Close(code websocket.StatusCode, reason string) {
	_ = c.ws.Close(code, reason) // the peer may be gone
}
