package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/retry"
	"github.com/tidemark/tidemark/query/queryv1"
)

type watchCmd struct {
	queryFlags
	User string `arg:"" help:"User id."`
	Rows int    `default:"20" placeholder:"N" help:"Channels that the terminal view shows (${default})."`
}

func (watchCmd) Help() string {
	return `
In a terminal it shows the inbox and redraws it at each change. Otherwise it prints a line for each change; with --json one JSON
object a line, as the API sends it. If the stream ends (a node stops, a partition moves) it reconnects, and never shows older values than
before.

Example:

    tidemark query watch ann
    tidemark query watch ann --json | jq .update.totals`
}

// watchPause is the wait before a stream that ended is resumed; it doubles up to watchPauseMax.
const (
	watchPause    = 250 * time.Millisecond
	watchPauseMax = 5 * time.Second
)

// Run shows changes until it is interrupted, which is no error.
func (c *watchCmd) Run(a *verbs.App) error {
	v := newWatchView(a, c)
	after := c.after()
	pause, shown := retry.Backoff{Min: watchPause, Max: watchPauseMax}, false
	for {
		err := c.stream(a, after, func(m *queryv1.WatchUnreadResponse) error {
			after = events.LatestTokens(slices.Concat(after, m.AsOf))
			pause.Reset()
			shown = true
			return v.show(m)
		})
		if a.Ctx.Err() != nil {
			return v.end()
		}
		if !shown || !temporary(err) {
			return errors.Join(v.end(), c.Explain(a, err))
		}
		v.interrupted(c.Explain(a, err))
		if !pause.Wait(a.Ctx) {
			return v.end()
		}
	}
}

// stream shows one stream until it ends, which it always does with an error.
func (c *watchCmd) stream(a *verbs.App, after []string, show func(*queryv1.WatchUnreadResponse) error) error {
	s, err := c.Service().WatchUnread(a.Ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: c.User, After: after}))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the stream has reported its end
	for s.Receive() {
		if err := show(s.Msg()); err != nil {
			return err
		}
	}
	if s.Err() == nil {
		return connect.NewError(connect.CodeUnavailable, errors.New("the stream ended"))
	}
	return s.Err()
}

// temporary reports whether watching again may help.
func temporary(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var answer *connect.Error
	if !errors.As(err, &answer) {
		return false
	}
	return answer.Code() == connect.CodeUnavailable || !connect.IsWireError(err)
}
