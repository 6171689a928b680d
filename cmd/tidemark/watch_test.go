package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/testkit"
	"github.com/tidemark/tidemark/query/queryv1"
)

// watch runs `query watch` until the returned function is called, which gives the exit code.
func watch(t *testing.T, args ...string) (*testkit.Output, func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var out testkit.Output
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, append([]string{"tidemark", "query", "watch"}, args...), strings.NewReader(""), &out, io.Discard)
	}()
	return &out, func() int {
		cancel()
		return <-code
	}
}

func TestWatchPrintsALineForEachChange(t *testing.T) {
	s := stack(t)
	joined := ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL, "--after", lines(joined)[0])
	out.Await(t, "snapshot of 1 channel; total: 0 unread")
	ok(t, postLine("m1", "x"), "emit", "--brokers", s.Broker)
	out.Await(t, "general: unread 1, mentions 0") // and perhaps already how much of it she has on no device
	ok(t, `{"topic":"chat.messages","event":{"channel_id":"general","members_left":{"user_ids":["ann"]}}}`, "emit", "--brokers", s.Broker)
	out.Await(t, "general: left; total 0")
	if code := stop(); code != exitDone {
		t.Errorf("interrupted: exit %d", code)
	}
}

func TestWatchAsJSON(t *testing.T) {
	s := stack(t)
	ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL, "--json")
	out.Await(t, `"snapshot"`)
	ok(t, postLine("m1", "x"), "emit", "--brokers", s.Broker)
	out.Await(t, `"update"`)
	stop()
	for _, l := range lines(out.String()) {
		if !json.Valid([]byte(l)) {
			t.Errorf("not JSON: %q", l)
		}
	}
}

// When the node goes away for a while the watch goes on where it was.
func TestWatchIsTakenUpAgain(t *testing.T) {
	s := stack(t)
	ok(t, joinLine, "emit", "--brokers", s.Broker)
	out, stop := watch(t, "ann", "--addr", s.URL)
	out.Await(t, "snapshot")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	out.Await(t, "trying again")
	if code := stop(); code != exitDone {
		t.Errorf("interrupted while it tries: exit %d", code)
	}
}

func watchSnapshot(channels ...*queryv1.ChannelUnread) *queryv1.WatchUnreadResponse {
	totals := &queryv1.Totals{}
	for _, c := range channels {
		totals.Unread += c.Unread
	}
	return &queryv1.WatchUnreadResponse{Event: &queryv1.WatchUnreadResponse_Snapshot{
		Snapshot: &queryv1.WatchSnapshot{Channels: channels, Totals: totals},
	}}
}

func updated(c *queryv1.ChannelUnread) *queryv1.WatchUnreadResponse {
	return &queryv1.WatchUnreadResponse{Event: &queryv1.WatchUnreadResponse_Update{
		Update: &queryv1.WatchUpdate{Channel: c, Totals: &queryv1.Totals{Unread: c.Unread}},
	}}
}

// On a terminal the page is drawn over itself: unread first, what changed marked, no more rows than asked for, and
// nothing that a sender wrote can move the cursor.
func TestWatchDrawsAPage(t *testing.T) {
	var b bytes.Buffer
	v := &watchView{w: &b, user: "ann", page: true, rows: 2, size: func() (int, int) { return 0, 0 }, channels: map[string]*queryv1.ChannelUnread{}}
	show := func(m *queryv1.WatchUnreadResponse) string {
		t.Helper()
		b.Reset()
		if err := v.show(m); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	page := show(watchSnapshot(
		&queryv1.ChannelUnread{ChannelId: "a", Member: true},
		&queryv1.ChannelUnread{ChannelId: "b", Member: true, Unread: 3},
		&queryv1.ChannelUnread{ChannelId: "c", Member: true},
	))
	if !strings.HasPrefix(page, ansiEnter+ansiHome) || !strings.Contains(page, "and 1 more") || strings.Contains(page, ansiReverse) {
		t.Errorf("first page: %q", page)
	}
	if strings.Index(page, "b        ") > strings.Index(page, "a        ") {
		t.Errorf("what is unread is not first: %q", page)
	}
	page = show(updated(&queryv1.ChannelUnread{ChannelId: "a", Member: true, Unread: 1,
		Latest: &queryv1.Latest{SenderId: "bob", Preview: "\x1b[2Jboo"}}))
	if strings.Contains(page, ansiEnter) || !strings.Contains(page, ansiReverse+"a ") || strings.Contains(page, "\x1b[2J") {
		t.Errorf("after a change: %q", page)
	}
	page = show(updated(&queryv1.ChannelUnread{ChannelId: "b"}))
	if strings.Contains(page, "\nb") || strings.Contains(page, "more") {
		t.Errorf("after leaving: %q", page)
	}
	b.Reset()
	if err := v.end(); err != nil || b.String() != ansiLeave {
		t.Errorf("the terminal is given back with %q, %v", b.String(), err)
	}
}

// A page is not larger than its terminal, whose size may change while it is watched.
func TestWatchFitsTheTerminal(t *testing.T) {
	var b bytes.Buffer
	var width, height int
	v := &watchView{w: &b, user: "ann", page: true, rows: 20, size: func() (int, int) { return width, height }, channels: map[string]*queryv1.ChannelUnread{}}
	var channels []*queryv1.ChannelUnread
	for i := range 30 {
		channels = append(channels, &queryv1.ChannelUnread{ChannelId: fmt.Sprintf("部署-%02d", i), Member: true, Unread: 1,
			Latest: &queryv1.Latest{SenderId: "bob", Preview: strings.Repeat("words ", 20)}})
	}
	for _, size := range [][2]int{{80, 24}, {30, 60}, {200, 10}, {40, 3}} {
		b.Reset()
		width, height = size[0], size[1]
		if err := v.show(watchSnapshot(channels...)); err != nil {
			t.Fatal(err)
		}
		page := strings.NewReplacer(ansiEnter, "", ansiHome, "", ansiClearLine, "", ansiClearDown, "", ansiBold, "", ansiReverse, "", ansiReset, "").Replace(b.String())
		drawn := strings.Split(page, "\r\n")
		for _, l := range drawn {
			if columns(l) > width {
				t.Errorf("%d columns: %q has %d", width, l, columns(l))
			}
		}
		if want := 1 + min(20, max(height-around, 1)) + around - 1; len(drawn) != want || height > around && len(drawn) > height {
			t.Errorf("%d rows: %d lines, want %d", height, len(drawn), want)
		}
		if more := fmt.Sprintf("and %d more", 30-min(20, max(height-around, 1))); !strings.Contains(page, more) {
			t.Errorf("%d rows: nothing says %q", height, more)
		}
	}
}

// What is counted as come while offline is told by a change of its own.
func TestWatchLinesTellWhatCameWhileOffline(t *testing.T) {
	var b bytes.Buffer
	v := &watchView{w: &b, user: "ann", channels: map[string]*queryv1.ChannelUnread{}}
	for offline, want := range []string{"general: unread 3, mentions 0; total 3\n", "general: unread 3, mentions 0, offline 1; total 3\n"} {
		b.Reset()
		if err := v.show(updated(&queryv1.ChannelUnread{ChannelId: "general", Member: true, Unread: 3, OfflineUnread: uint32(offline)})); err != nil { //nolint:gosec // 0 or 1
			t.Fatal(err)
		}
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("%q, want %q at its end", b.String(), want)
		}
	}
}

func TestTokensAreMergedToTheNewest(t *testing.T) {
	got := mergeTokens([]string{"chat.reads/1/9", "chat.messages/0/5"}, []string{"chat.reads/1/10", "chat.messages/0/4", "chat.messages/2/0"})
	want := []string{"chat.messages/0/5", "chat.messages/2/0", "chat.reads/1/10"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
