package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryWatchCmd struct {
	queryFlags
	User string `arg:"" help:"User id."`
	Rows int    `default:"20" placeholder:"N" help:"Channels that the terminal view shows (${default})."`
}

func (queryWatchCmd) Help() string {
	return `
In a terminal: the inbox, redrawn whenever something changes. Else a line for each change; with --json one JSON object a
line, as the API sends it. If the stream ends (a node stops, a partition moves) it is taken up again, never behind what
was shown.

Example:

    tidemark query watch ann
    tidemark query watch ann --json | jq .update.totals`
}

// watchPause is how long is waited before a stream that ended is taken up again; it doubles up to watchPauseMax.
const (
	watchPause    = 250 * time.Millisecond
	watchPauseMax = 5 * time.Second
)

// Run shows changes until it is interrupted, which is no error.
func (c *queryWatchCmd) Run(a *app) error {
	v := newWatchView(a, c)
	after := slices.Clone(c.After)
	pause, shown := watchPause, false
	for {
		err := c.stream(a, after, func(m *queryv1.WatchUnreadResponse) error {
			after = mergeTokens(after, m.AsOf)
			pause, shown = watchPause, true
			return v.show(m)
		})
		if a.ctx.Err() != nil {
			return v.end()
		}
		if !shown || !temporary(err) {
			return errors.Join(v.end(), c.explain(err))
		}
		v.interrupted(c.explain(err))
		select {
		case <-a.ctx.Done():
			return v.end()
		case <-time.After(pause):
		}
		pause = min(2*pause, watchPauseMax)
	}
}

// stream shows one stream until it ends, which it always does with an error.
func (c *queryWatchCmd) stream(a *app, after []string, show func(*queryv1.WatchUnreadResponse) error) error {
	s, err := c.service().WatchUnread(a.ctx, connect.NewRequest(&queryv1.WatchUnreadRequest{UserId: c.User, After: after}))
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the stream has said how it ended
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

// mergeTokens adds tokens to after, the newest for each topic and partition, in order.
func mergeTokens(after, tokens []string) []string {
	newest := map[string]string{}
	for _, t := range slices.Concat(after, tokens) {
		place, offset := t, ""
		if i := strings.LastIndexByte(t, '/'); i >= 0 {
			place, offset = t[:i], t[i+1:]
		}
		if old, ok := newest[place]; !ok || olderOffset(old, offset) {
			newest[place] = offset
		}
	}
	merged := make([]string, 0, len(newest))
	for _, place := range slices.Sorted(maps.Keys(newest)) {
		merged = append(merged, fmt.Sprintf("%s/%s", place, newest[place]))
	}
	return merged
}

// olderOffset compares two offsets without leading zeros.
func olderOffset(a, b string) bool {
	return len(a) < len(b) || len(a) == len(b) && a < b
}
