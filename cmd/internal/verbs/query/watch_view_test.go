package query

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
)

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

// On a terminal the page is drawn over itself: unread first, what changed marked, no more rows than
// asked for, and nothing that a sender wrote can move the cursor.
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
			if term.Columns(l) > width {
				t.Errorf("%d columns: %q has %d", width, l, term.Columns(l))
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

// A change of offline_unread alone is printed too.
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
