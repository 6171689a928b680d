package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"
)

// connection is one connection, with the code and the reason of its end.
func (d *Device) connection(ctx context.Context) (code websocket.StatusCode, reason string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn, err := d.dial(ctx)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	w := &watchdog{device: d, give: func() { _ = conn.CloseNow() }}
	w.begin()
	defer w.end()
	var pump sync.WaitGroup
	defer pump.Wait()
	defer cancel()
	pump.Go(func() {
		for {
			text, err := d.outbox.next(ctx)
			if err != nil || conn.Write(ctx, websocket.MessageText, text) != nil {
				return // the reader fails too
			}
		}
	})
	for {
		_, text, err := conn.Read(ctx)
		switch e := (websocket.CloseError{}); {
		case w.gaveUp():
			return websocket.StatusAbnormalClosure, fmt.Sprintf("no answer within %s", d.cfg.AnswerTimeout)
		case errors.As(err, &e):
			return e.Code, e.Reason
		case ctx.Err() != nil:
			_ = conn.Close(websocket.StatusNormalClosure, "")
			return 0, ""
		case err != nil:
			return websocket.StatusAbnormalClosure, "the connection broke off"
		}
		w.heard()
		if err := d.take(text); err != nil {
			return websocket.StatusUnsupportedData, err.Error()
		}
	}
}

func (d *Device) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.AnswerTimeout)
	defer cancel()
	token, err := d.cfg.Token.token(ctx) // a new one each time: the last may have expired
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	conn, res, err := websocket.Dial(ctx, d.url, &websocket.DialOptions{HTTPClient: d.cfg.HTTP, HTTPHeader: header}) //nolint:bodyclose // Dial closes it
	switch {
	case err == nil:
		return conn, nil
	case res != nil:
		return nil, fmt.Errorf("the gateway refused the connection: HTTP %d", res.StatusCode)
	}
	return nil, err
}

// take applies a frame and passes it to OnFrame.
func (d *Device) take(text []byte) error {
	var head struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("a frame is not a JSON object of a gateway: %w", err)
	}
	f := Frame{head.Type, text}
	if err := d.apply(f); err != nil {
		return fmt.Errorf("frame %s: %w", f.Type, err)
	}
	if head.ID != "" || head.Type == "error" {
		d.outbox.answered(f, head.ID, head.Code, head.Message)
	}
	if d.cfg.OnFrame != nil {
		d.cfg.OnFrame(f)
	}
	return nil
}

func (d *Device) apply(f Frame) error {
	switch f.Type {
	case "hello":
		var hello struct {
			User     string `json:"user_id"`
			Instance string `json:"instance_id"`
			Limits   limits `json:"limits"`
		}
		if err := f.Decode(&hello); err != nil {
			return err
		}
		d.mu.Lock()
		d.user, d.instance, d.state = hello.User, hello.Instance, Open
		var first []command
		for scope := range d.focused {
			first = append(first, command{Type: "channel.focus", ChannelID: scope.ChannelID, ThreadID: scope.ThreadID})
		}
		d.mu.Unlock()
		d.outbox.opened(first, hello.Limits)
	case "inbox":
		i, err := inboxOf(f.Text)
		if err != nil {
			return err
		}
		d.wait.reset() // not at the hello: a gateway that accepts and then fails gets longer and longer waits
		d.setInbox(i)
	case "unread.updated":
		i, err := d.Inbox().with(f.Text)
		if err != nil {
			return err
		}
		d.setInbox(i)
	case "message.new":
		var m struct {
			Channel string `json:"channel_id"`
			Seq     int    `json:"seq"`
		}
		if err := f.Decode(&m); err != nil {
			return err
		}
		d.mu.Lock()
		d.heads[m.Channel] = max(m.Seq, d.heads[m.Channel])
		d.mu.Unlock()
	}
	return nil
}

func (d *Device) setInbox(i Inbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inbox = i
	close(d.changed)
	d.changed = make(chan struct{})
}
