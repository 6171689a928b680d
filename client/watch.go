package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"time"
)

// WatchEvent is one message of a watch: a snapshot or an update.
type WatchEvent struct {
	// Snapshot replaces everything before it. It comes first, and again after each break.
	Snapshot *WatchSnapshot `json:"snapshot,omitempty"`
	Update   *WatchUpdate   `json:"update,omitempty"`
	// AsOf of an update has only the update's own partition.
	AsOf []string `json:"as_of"`
}

// WatchSnapshot has a user's channels, including archived ones, and threads, at most 1,000 of each.
type WatchSnapshot struct {
	Channels []ChannelUnread `json:"channels"`
	Threads  []ThreadUnread  `json:"threads"`
	Totals   Totals          `json:"totals"`
	// NextPageToken returns the remaining channels, if passed to Inbox with Archived "all".
	NextPageToken string            `json:"next_page_token"`
	TotalsByLabel map[string]Totals `json:"totals_by_label"`
}

// WatchUpdate is the whole new state of one channel or one thread, with the new totals.
type WatchUpdate struct {
	Channel       *ChannelUnread    `json:"channel,omitempty"`
	Thread        *ThreadUnread     `json:"thread,omitempty"`
	Totals        Totals            `json:"totals"`
	TotalsByLabel map[string]Totals `json:"totals_by_label"`
}

// streamQuiet is how long a stream may be silent: a node sends a heartbeat after 25 s.
const streamQuiet = time.Minute

// Watch returns a snapshot of the user's inbox, then every change, until the loop or ctx ends. When
// the stream breaks, the watch reconnects after a growing wait and continues. If an error is
// permanent, it is the last pair.
func (c *Client) Watch(ctx context.Context, user string, after ...string) iter.Seq2[*WatchEvent, error] {
	return func(yield func(*WatchEvent, error) bool) {
		seen, wait := latest(after), backoff{least: 250 * time.Millisecond, most: 20 * time.Second}
		for {
			stopped := false
			err := c.stream(ctx, user, seen, func(e *WatchEvent) bool {
				seen = latest(slices.Concat(seen, e.AsOf))
				if e.Snapshot != nil {
					wait.reset()
				}
				if e.Snapshot != nil || e.Update != nil {
					stopped = !yield(e, nil)
				}
				return !stopped
			})
			switch {
			case stopped:
				return
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case lasting(err):
				yield(nil, err)
				return
			}
			pause := wait.next(0)
			if e := (*Error)(nil); errors.As(err, &e) {
				pause = max(pause, e.RetryAfter)
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}
}

// lasting reports whether an error is permanent.
func lasting(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return true // no token
	}
	return slices.Contains([]string{InvalidArgument, Unauthenticated, PermissionDenied, Unimplemented, NotFound}, e.Code)
}

// A message in a stream begins with flags and its length.
const (
	flagCompressed = 1
	flagEnd        = 2
)

// stream opens one stream, and calls each with every message until each returns false.
func (c *Client) stream(ctx context.Context, user string, after []string, each func(*WatchEvent) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(c.quiet, cancel)
	defer silent.Stop()
	request, err := json.Marshal(named{User: user, Page: Page{After: after}})
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	const path = queryService + "WatchUnread"
	res, err := c.send(ctx, path, "application/connect+json", envelope(request))
	if err != nil {
		return hushed(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
		if err != nil {
			return hushed(c.broken(ctx, path, err))
		}
		return errorOf(res.StatusCode, res.Header, text)
	}
	for {
		var head [5]byte
		if _, err := io.ReadFull(res.Body, head[:]); err != nil {
			return hushed(c.broken(ctx, path, err))
		}
		size := binary.BigEndian.Uint32(head[1:])
		if head[0]&flagCompressed != 0 || size > maxAnswer {
			return &Error{Code: Unknown, Message: c.cfg.URL + " sends a stream that is not that of a node"}
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(res.Body, text); err != nil {
			return hushed(c.broken(ctx, path, err))
		}
		silent.Reset(c.quiet)
		if head[0]&flagEnd != 0 {
			return endOf(text)
		}
		var e WatchEvent
		if err := json.Unmarshal(text, &e); err != nil {
			return &Error{Code: Unknown, Message: fmt.Sprintf("%s sends a stream that is not that of a node: %v", c.cfg.URL, err)}
		}
		if !each(&e) {
			return nil
		}
	}
}

// hushed is the error of a stream that was given up because it was silent, as opposed to the end of
// the caller's context.
func hushed(err error) error {
	if errors.Is(err, context.Canceled) && CodeOf(err) == "" {
		return &Error{Code: Unavailable, Message: "the stream has said nothing for a minute", err: err}
	}
	return err
}

func envelope(body []byte) []byte {
	var b bytes.Buffer
	b.WriteByte(0)
	_ = binary.Write(&b, binary.BigEndian, uint32(len(body))) //nolint:gosec // a request is small
	b.Write(body)
	return b.Bytes()
}

// endOf returns the error in a stream's last message, nil if the stream ended normally.
func endOf(text []byte) error {
	var end struct {
		Error *Error `json:"error"`
	}
	if len(text) > 0 && json.Unmarshal(text, &end) == nil && end.Error != nil {
		return end.Error
	}
	return &Error{Code: Unavailable, Message: "the stream has ended"}
}
