package wire

import (
	"context"
	"io"
	"time"

	"github.com/coder/websocket"

	"github.com/tidemark/tidemark/internal/guard"
)

// First reads the first frame of a connection. If none comes within patience, it closes the
// connection with code and reason; cancelling the read instead would end it without a code.
func (c *Conn) First(patience time.Duration, code websocket.StatusCode, reason string) (body []byte, text bool, err error) {
	silent := guard.AfterFunc(patience, "the end of a silent connection", c.Panicked, func() { c.Close(code, reason) })
	defer silent.Stop()
	kind, body, err := c.ws.Read(c.ctx)
	return body, kind == websocket.MessageText, err
}

// Read passes the client's frames to take until the connection ends. It returns why it ended.
func (c *Conn) Read(take func([]byte)) error {
	for {
		// Without a context, for which the library would keep memory as long as it waits: End ends
		// the read.
		kind, r, err := c.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			c.Shut(websocket.StatusUnsupportedData, "frames are JSON text")
			<-c.ctx.Done() // the close is sent first
			return nil
		}
		// The first byte has arrived, and the rest must follow soon.
		_ = c.link.SetReadDeadline(time.Now().Add(c.s.FrameTimeout))
		body, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		_ = c.link.SetReadDeadline(time.Time{})
		take(body)
	}
}
