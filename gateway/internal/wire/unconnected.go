package wire

import (
	"context"

	"github.com/coder/websocket"
)

// Unconnected makes a connection without a socket: what is sent to it stays queued, where Waiting
// shows it. The tests of what is sent to whom use it.
func Unconnected(ctx context.Context, s *Settings, instance string) *Conn {
	return &Conn{Instance: instance, s: s, ctx: ctx, cancel: func() {}, writing: true}
}

// Waiting returns the frames that are queued, in the order in which they would be written.
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

// Closing returns the code with which the connection is to be closed, or has been; 0: none.
func (c *Conn) Closing() websocket.StatusCode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closing.code
}
