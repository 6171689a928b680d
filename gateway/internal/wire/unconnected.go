package wire

import (
	"context"

	"github.com/coder/websocket"
)

// Unconnected creates a connection without a socket. Frames sent to it stay queued, and Waiting
// returns them. Tests use it.
func Unconnected(ctx context.Context, s *Settings, instance string) *Conn {
	return &Conn{Instance: instance, s: s, ctx: ctx, cancel: func() {}, writing: true}
}

// Waiting returns the queued frames, in the order in which they would be written.
func (c *Conn) Waiting() (list []Item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range c.queue.items {
		if it.Frame != nil {
			list = append(list, it)
		}
	}
	return list
}

// Closing returns the code with which the connection is to be closed, or was; 0: none.
func (c *Conn) Closing() websocket.StatusCode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing.code
}
