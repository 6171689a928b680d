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

// Settings are what all connections of a gateway have in common. Planted may be nil.
type Settings struct {
	Writers      *Writers
	FrameBytes   int           // the largest frame of a client
	QueueBytes   int           // how much may wait for a connection; beyond, it is closed with CloseSlow
	WriteTimeout time.Duration // for corkBytes to be taken
	FrameTimeout time.Duration // from a client's first byte of a frame to the last
	PongTimeout  time.Duration // for a ping to be answered
	Logger       *slog.Logger

	Bytes, Frames prometheus.Counter // that were written
	Slow          prometheus.Counter // connections that ended because the client took too little
	Closed        func(code websocket.StatusCode)
	// Taken gets the frames that a connection has taken.
	Taken func(instance string, batch []Item)
	// Planted is called with the name of a place. Tests panic in it.
	Planted func(where string)
}

// Conn is one device's socket.
type Conn struct {
	Instance string // names the connection, to its client and in events
	s        *Settings
	number   uint64 // of the connections that the gateway accepted
	ws       *websocket.Conn
	link     *link
	ctx      context.Context
	cancel   context.CancelFunc

	stuck    bool   // the client did not take what it was given, so it has a writer of its own; guarded by the lock of Writers
	answered uint32 // how many frames had been queued, and written, before the last ping that was answered; guarded by mu

	mu      sync.Mutex
	queue   queue
	writing bool   // the connection has a turn to write, or waits for one
	silent  bool   // nothing was queued between the last two pings that were answered
	queued  uint32 // how many frames, since it began
	closing closing
}

// closing is why a connection is to be closed; its zero value: it is not.
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
		c.writing = true // there is enough for a write: it does not wait for the rest of a long batch of records
		c.s.Writers.add(c)
	}
}

// Settled reports whether the client has received all frames that were queued, a while ago: they
// were written before the last but one of its pings, it has answered both, and none followed.
func (c *Conn) Settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent && c.answered == c.queued
}

// Kick makes sure that what is queued is being written.
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

// DropChannel drops what is queued about a channel that the user may not see any more. It reports
// whether it dropped an inbox, so that the connection needs another.
func (c *Conn) DropChannel(id string) (another bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.dropChannel(id)
}

// DropValues empties the queue before a fresh inbox is sent. It drops what the inbox replaces and
// returns the other frames, which are to be sent behind it.
func (c *Conn) DropValues() []Item {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.dropValues()
}

// Shut closes the connection with a code once the current write is done. It drops queued frames: a
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
