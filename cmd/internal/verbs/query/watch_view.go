package query

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
)

// watchView shows the messages of a WatchUnread stream as JSON, as lines, or as a page that it
// redraws.
type watchView struct {
	w        io.Writer
	user     string
	json     bool
	page     bool
	rows     int
	size     func() (columns, rows int) // of the terminal; 0: not known
	channels map[string]*queryv1.ChannelUnread
	totals   *queryv1.Totals
	changed  string // the channel of the last update
	updates  int
	trouble  string
}

func newWatchView(a *verbs.App, c *watchCmd) *watchView {
	return &watchView{
		w: a.Stdout, user: c.User, json: c.JSON, page: !c.JSON && term.IsTerminal(a.Stdout), rows: c.Rows,
		size: func() (int, int) { return term.Size(a.Stdout) }, channels: map[string]*queryv1.ChannelUnread{},
	}
}

// show takes one message of the stream.
func (v *watchView) show(m *queryv1.WatchUnreadResponse) error {
	v.trouble = ""
	switch e := m.Event.(type) {
	case *queryv1.WatchUnreadResponse_Snapshot:
		clear(v.channels)
		for _, ch := range e.Snapshot.Channels {
			v.channels[ch.ChannelId] = ch
		}
		v.totals, v.changed = e.Snapshot.Totals, ""
	case *queryv1.WatchUnreadResponse_Update:
		v.updates++
		v.totals, v.changed = e.Update.Totals, e.Update.Channel.GetChannelId()
		if e.Update.Channel == nil {
			break // a thread, which counts only in the totals
		}
		if e.Update.Channel.GetMember() {
			v.channels[v.changed] = e.Update.Channel
		} else {
			delete(v.channels, v.changed)
		}
	}
	switch {
	case v.json:
		return term.PrintProto(v.w, m)
	case v.page:
		return v.draw()
	}
	return v.line(m)
}

// line prints a change, for a file or a pipe.
func (v *watchView) line(m *queryv1.WatchUnreadResponse) error {
	now := time.Now().Format("15:04:05.000")
	var err error
	switch e := m.Event.(type) {
	case *queryv1.WatchUnreadResponse_Snapshot:
		_, err = fmt.Fprintf(v.w, "%s  snapshot of %s; %s\n", now, term.Plural(len(e.Snapshot.Channels), "channel"), totalsLine(v.totals))
	case *queryv1.WatchUnreadResponse_Update:
		if t := e.Update.Thread; t != nil {
			state := "followed no longer"
			if t.Following {
				state = fmt.Sprintf("unread %d, mentions %d", t.Unread, t.Mentions)
			}
			_, err = fmt.Fprintf(v.w, "%s  %s, thread %s: %s; total %d\n", now, term.Printable(t.ChannelId), term.Printable(t.ThreadId), state,
				v.totals.GetThreadUnread())
			break
		}
		ch := e.Update.Channel
		state := "left"
		if ch.GetMember() {
			state = fmt.Sprintf("unread %d, mentions %d", ch.Unread, ch.Mentions)
			if ch.OfflineUnread > 0 {
				state += fmt.Sprintf(", offline %d", ch.OfflineUnread)
			}
			state += marks(ch)
		}
		_, err = fmt.Fprintf(v.w, "%s  %s: %s; total %d\n", now, term.Printable(ch.GetChannelId()), state, v.totals.GetUnread())
	}
	return err
}

const (
	ansiHome      = "\x1b[H"
	ansiClearLine = "\x1b[K"
	ansiClearDown = "\x1b[J"
	ansiBold      = "\x1b[1m"
	ansiReverse   = "\x1b[7m"
	ansiReset     = "\x1b[0m"
	ansiEnter     = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	ansiLeave     = "\x1b[?25h\x1b[?1049l"
)

// around is the number of lines of the page besides its channels: a title, the totals, the table's
// header, the count of omitted channels, the footer, and separators.
const around = 8

// draw writes the whole page at once, over the one before. The page is no larger than the terminal,
// because a line that wraps or scrolls would not be where the next page is drawn.
func (v *watchView) draw() error {
	list := make([]*queryv1.ChannelUnread, 0, len(v.channels))
	for _, ch := range v.channels {
		list = append(list, ch)
	}
	slices.SortFunc(list, inboxOrder)
	width, height := v.size()
	most := v.rows
	if height > 0 {
		most = min(most, height-around)
	}
	shown := list[:min(len(list), max(most, 1))]

	var b strings.Builder
	if v.updates == 0 && v.changed == "" {
		b.WriteString(ansiEnter)
	}
	b.WriteString(ansiHome)
	put := func(style, s string) {
		if width > 0 {
			s = term.Cut(s, width)
		}
		if style != "" {
			s = style + s + ansiReset
		}
		b.WriteString(s + ansiClearLine + "\r\n")
	}
	put(ansiBold, "tidemark: "+term.Printable(v.user))
	put("", totalsLine(v.totals))
	put("", "")
	for i, l := range inboxTable(shown).Lines() {
		switch {
		case i == 0:
			put(ansiBold, l)
		case shown[i-1].ChannelId == v.changed:
			put(ansiReverse, l)
		default:
			put("", l)
		}
	}
	if more := len(list) - len(shown); more > 0 {
		put("", fmt.Sprintf("and %d more", more))
	}
	put("", "")
	foot := fmt.Sprintf("%s, %s; Ctrl-C ends", time.Now().Format("15:04:05"), term.Plural(v.updates, "update"))
	if v.trouble != "" {
		foot = v.trouble
	}
	put("", foot)
	b.WriteString(ansiClearDown)
	_, err := io.WriteString(v.w, b.String())
	return err
}

// inboxOrder is that of GetInbox: unread and flagged ones first, then the newest, then by id.
func inboxOrder(a, b *queryv1.ChannelUnread) int {
	if (a.Unread > 0 || a.Flagged) != (b.Unread > 0 || b.Flagged) {
		if a.Unread > 0 || a.Flagged {
			return -1
		}
		return 1
	}
	if c := b.GetLatest().GetAt().AsTime().Compare(a.GetLatest().GetAt().AsTime()); c != 0 {
		return c
	}
	return strings.Compare(a.ChannelId, b.ChannelId)
}

// interrupted shows that the stream ended and will be resumed.
func (v *watchView) interrupted(err error) {
	v.trouble = term.Printable(fmt.Sprintf("%v; trying again", err))
	switch {
	case v.page:
		_ = v.draw() // if the terminal is gone, the program ends anyway
	case !v.json:
		fmt.Fprintf(v.w, "%s  %s\n", time.Now().Format("15:04:05.000"), v.trouble)
	}
}

// end restores the terminal.
func (v *watchView) end() error {
	if !v.page || v.totals == nil {
		return nil
	}
	_, err := io.WriteString(v.w, ansiLeave)
	return err
}
