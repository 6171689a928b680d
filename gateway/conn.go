package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// Close codes of the gateway, beside those of RFC 6455. docs/gateway.md says what a client does about each.
const (
	CloseToken     = 4401 // no valid token, or it has expired: come back with another
	CloseSlow      = 4408 // what waited for the client grew beyond QueueBytes: connect again for a fresh inbox
	CloseRate      = 4429 // too many frames or connections: wait longer
	CloseElsewhere = websocket.StatusServiceRestart
	CloseTryAgain  = websocket.StatusTryAgainLater // no inbox could be read
)

// conn is one device's socket.
type conn struct {
	g        *Gateway
	user     *user
	number   uint64 // of the connections that this gateway was asked for
	instance string
	address  string // where it comes from
	token    string // of the user; empty without keys
	ws       *websocket.Conn
	link     *link
	cancel   context.CancelFunc
	ctx      context.Context
	refused  int          // frames, pings and pongs without a share, less those that had one since; the reader's
	asking   atomic.Int32 // read_state frames that wait for an owner

	// Guarded by the hub's lock.
	focused  map[scope]uint32 // the read epoch that was known when it was focused
	loading  bool             // its inbox is being read: what changes meanwhile is held by the user
	reloads  int              // inboxes to read when the one under way is done
	released bool
	touched  bool // it is among the hub's dirty ones

	stuck bool // it did not take what it was given, and is written to apart; guarded by the lock of writers

	mu      sync.Mutex
	queue   queue
	writing bool // it has a turn to write, or waits for one
	closing closing
}

// closing is why a connection is to be closed; its zero value: it is not.
type closing struct {
	code   websocket.StatusCode
	reason string
}

// scope is what can be focused: a channel, or a thread of it.
type scope struct{ channel, thread string }

// send queues a frame. It never waits. The frame goes out when the connection is kicked.
func (c *conn) send(it item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.code != 0 {
		return
	}
	c.queue.add(it)
	if c.queue.bytes > c.g.cfg.Limits.QueueBytes {
		c.g.metrics.slow.Inc()
		c.closing = closing{CloseSlow, "too slow: connect again for a fresh inbox"}
		c.queue.clear()
	}
	if c.queue.bytes > corkBytes/4 && !c.writing {
		c.writing = true // a long batch of records is not waited for
		c.g.writers.add(c)
	}
}

// kick makes sure that what is queued is being written.
func (c *conn) kick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.writing && (!c.queue.empty() || c.closing.code != 0) {
		c.writing = true
		c.g.writers.add(c)
	}
}

// sendNow queues and kicks.
func (c *conn) sendNow(body []byte) {
	c.send(item{body: body})
	c.kick()
}

// shut closes the connection with a code once what is being written has gone out. What is queued is dropped: whoever
// connects again is told everything anew.
func (c *conn) shut(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	if c.closing.code == 0 {
		c.closing = closing{code, reason}
		c.queue.clear()
	}
	c.mu.Unlock()
	c.kick()
}

// write writes what is queued, or a part of it where that is much. It reports whether there is more.
func (c *conn) write() bool {
	c.mu.Lock()
	if why := c.closing; why.code != 0 {
		c.mu.Unlock() // writing stays true: nothing is written after a close
		c.g.metrics.closed(why.code)
		go func() { // the peer answers it, or does not
			_ = c.ws.Close(why.code, why.reason) // it may be gone
			c.cancel()
		}()
		return false
	}
	batch := c.queue.take(corkBytes)
	c.mu.Unlock()
	c.g.metrics.frames.Add(float64(len(batch)))
	err := c.link.send(c.ws, batch)
	if err == nil {
		c.g.delivered.taken(c, batch)
	}
	recycle(batch)
	if err != nil {
		if isTimeout(err) {
			c.g.metrics.slow.Inc()
		}
		c.cancel() // the reader ends, and releases; writing stays true
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = !c.queue.empty() || c.closing.code != 0
	return c.writing
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// read passes the client's frames to take until the connection ends. It returns why.
func (c *conn) read(take func([]byte)) error {
	for {
		kind, r, err := c.ws.Reader(c.ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			c.shut(websocket.StatusUnsupportedData, "frames are JSON text")
			<-c.ctx.Done() // the close goes out first
			return nil
		}
		// The first byte is there: the rest must follow.
		_ = c.link.SetReadDeadline(time.Now().Add(c.g.cfg.Limits.FrameTimeout))
		body, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_ = c.link.SetReadDeadline(time.Time{})
		take(body)
	}
}

// forget drops what is queued about a channel that the user may not see any more. It reports whether an inbox was among
// it, so that another is needed.
func (c *conn) forget(channelID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue.dropChannel(channelID)
}
