package wire

import (
	"errors"
	"net"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
)

// turn is write, but a panic ends only this connection.
func (c *Conn) turn() (more bool) {
	if err := guard.Do("the writing to a connection", func() { more = c.write() }); err != nil {
		c.Panicked(guard.Of(err))
		return false
	}
	return more
}

// write writes queued frames, or a part of them if there are many. It reports whether there are
// more.
func (c *Conn) write() bool {
	batch, why := c.next()
	if why.code != 0 { // writing stays true: nothing is written after a close
		c.s.Closed(why.code)
		guard.Go("the closing of a connection", c.Panicked, func() {
			_ = c.ws.Close(why.code, why.reason) // it waits for the peer, which may be gone
			c.cancel()
		})
		return false
	}
	c.s.Frames.Add(float64(len(batch)))
	if c.s.Planted != nil {
		c.s.Planted("write")
	}
	err := c.link.send(c.ws, batch)
	if err == nil {
		c.s.Taken(c.Instance, batch)
	}
	recycle(batch)
	if err != nil {
		if isTimeout(err) {
			c.s.Slow.Inc()
		}
		guard.Go("the end of a connection", c.Panicked, c.End) // its reader then releases it; writing stays true
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = !c.queue.empty() || c.closing.code != 0
	return c.writing
}

// next returns the frames to write, or why the connection closes.
func (c *Conn) next() ([]Item, closing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.code != 0 {
		return nil, c.closing
	}
	return c.queue.take(corkBytes), closing{}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// End ends the connection without a close frame.
func (c *Conn) End() {
	c.cancel()
	if c.ws != nil {
		_ = c.ws.CloseNow() // it may already be closed
	}
}

// Panicked ends a connection whose code panicked: its client reconnects and gets a new snapshot.
func (c *Conn) Panicked(e *guard.Error) {
	guard.Log(c.s.Logger, "connection ends: a part of it panicked", "instance", c.Instance, "request_id", obs.RequestID(c.ctx))(e)
	c.End()
}
