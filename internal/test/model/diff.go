package model

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/projections"
)

// stranger is a user and a channel that no record names. Questions about unknown ids also have
// correct answers.
const stranger = "\U0001F47B"

// Folded is the state that a model is compared with: a projections.Partition, or the rules alone.
type Folded interface {
	projections.Source
	Err() error
	Channel(channelID string) (projections.ChannelView, bool)
	View(userID, channelID string) (projections.View, bool)
	Thread(userID, channelID, threadID string) (projections.ThreadView, bool)
	Threads(userID string, fn func(*projections.ThreadView) bool) error
	Inbox(userID string, fn func(*projections.InboxEntry) bool) error
	Explain(userID, channelID string) (projections.Explanation, bool)
	ExplainThread(userID, channelID, threadID string) (projections.Explanation, bool)
	Readers(channelID string, from uint32, limit int) (projections.ReadersView, bool)
	Receipts(channelID, messageID string, from uint32, limit int) (projections.ReceiptsView, bool)
}

// InParts is a Folded that answers questions about all channels of a user from several sources, each
// of which has some of the channels.
type InParts interface {
	Parts(userID string) []projections.Source
}

// Diff compares every answer of the fold with the model's, for all users and channels that any
// record names and one of each that none does. It returns a line for each difference, or "" if
// there is none. The partition must have folded exactly the records that the model has. Diff does
// not take its RLock.
func (m *Model) Diff(p Folded) string {
	var d differences
	users, channels := append(m.Users(), stranger), append(m.Channels(), stranger)
	for _, c := range channels {
		want, wantOK := m.Channel(c)
		got, gotOK := p.Channel(c)
		d.compare("Channel("+c+")", want, wantOK, got, gotOK)
		for _, u := range users {
			args := "(" + u + ", " + c + ")"
			wantView, wantOK := m.View(u, c)
			gotView, gotOK := p.View(u, c)
			d.compare("View"+args, normalView(wantView), wantOK, normalView(gotView), gotOK)
			wantX, wantOK := m.Explain(u, c)
			gotX, gotOK := p.Explain(u, c)
			d.compare("Explain"+args, normalExplanation(wantX), wantOK, normalExplanation(gotX), gotOK)
			m.diffThreads(&d, p, u, c)
		}
		m.diffReceipts(&d, p, c)
	}
	for _, u := range users {
		got, err := inbox(p, u)
		if err != nil {
			d.addf("Inbox(%s): %v", u, err)
		} else if want := inboxText(m.Inbox(u)); got != want {
			d.addf("Inbox(%s):\n  model %s\n  fold  %s", u, want, got)
		}
		list, err := threads(p, u)
		if err != nil {
			d.addf("Threads(%s): %v", u, err)
		} else if want := m.ThreadList(u); !slices.Equal(list, want) {
			d.addf("Threads(%s):\n  model %+v\n  fold  %+v", u, want, list)
		}
		channels, panel := sweep(p, u)
		if want := inboxText(m.Inbox(u)); channels != want {
			d.addf("Sweep(%s), channels:\n  model %s\n  fold  %s", u, want, channels)
		}
		if want := m.panel(u); !slices.Equal(panel, want) {
			d.addf("Sweep(%s), threads:\n  model %v\n  fold  %v", u, want, panel)
		}
	}
	if err := p.Err(); err != nil {
		d.addf("the partition has an error: %v", err)
	}
	return strings.Join(d.lines, "\n")
}

func (m *Model) diffThreads(d *differences, p Folded, user, channel string) {
	for _, t := range append(m.Threads(channel), stranger) {
		args := "(" + user + ", " + channel + ", " + t + ")"
		want, wantOK := m.Thread(user, channel, t)
		got, gotOK := p.Thread(user, channel, t)
		d.compare("Thread"+args, want, wantOK, got, gotOK)
		wantX, wantOK := m.ExplainThread(user, channel, t)
		gotX, gotOK := p.ExplainThread(user, channel, t)
		d.compare("ExplainThread"+args, normalExplanation(wantX), wantOK, normalExplanation(gotX), gotOK)
	}
}

// diffReceipts asks a page of two at a time.
func (m *Model) diffReceipts(d *differences, p Folded, channel string) {
	want, wantOK := m.Readers(channel)
	var got []projections.Reader
	gotOK := false
	for from, more := uint32(0), true; more; more = from != 0 {
		var page projections.ReadersView
		page, gotOK = p.Readers(channel, from, 2)
		got, from = append(got, page.List...), page.Next
	}
	slices.SortFunc(got, func(a, b projections.Reader) int { return strings.Compare(a.UserID, b.UserID) })
	d.compare("Readers("+channel+")", normalList(want), wantOK, normalList(got), gotOK)
	for _, id := range append(m.MessageIDs(channel), stranger) {
		want, wantOK := m.Receipts(channel, id)
		var got projections.ReceiptsView
		gotOK := false
		for from, more := uint32(0), true; more; more = from != 0 {
			list := got.List
			got, gotOK = p.Receipts(channel, id, from, 2)
			from, got.Next, got.List = got.Next, 0, append(list, got.List...)
		}
		slices.SortFunc(got.List, func(a, b projections.Receipt) int { return strings.Compare(a.UserID, b.UserID) })
		got.List = normalList(got.List)
		d.compare("Receipts("+channel+", "+id+")", want, wantOK, got, gotOK)
	}
}

// threads returns the fold's view of a user's threads, by channel and id.
func threads(p Folded, user string) (out []projections.ThreadView, err error) {
	err = p.Threads(user, func(v *projections.ThreadView) bool {
		out = append(out, *v)
		return true
	})
	slices.SortFunc(out, func(a, b projections.ThreadView) int {
		return cmp.Or(strings.Compare(a.ChannelID, b.ChannelID), strings.Compare(a.ThreadID, b.ThreadID))
	})
	return out, err
}

// sweep returns the channels that a sweep lists for a user, by id, and the threads.
func sweep(p Folded, user string) (channels string, panel []string) {
	parts := []projections.Source{p}
	if in, ok := p.(InParts); ok {
		parts = in.Parts(user)
	}
	var list []projections.InboxEntry
	for _, part := range parts {
		s := &projections.Sweep{UserID: user, Inbox: true, Panel: true}
		for !s.Step(part) {
		}
		s.EachChannel(func(e *projections.InboxEntry) { list = append(list, *e) })
		s.EachThread(func(e *projections.ThreadEntry) {
			panel = append(panel, panelLine(string(e.ChannelID), string(e.ThreadID), e.Unread, e.Mentions, e.Muted, e.RepliedAt))
		})
	}
	slices.SortFunc(list, func(a, b projections.InboxEntry) int {
		return strings.Compare(string(a.ChannelID), string(b.ChannelID))
	})
	slices.Sort(panel)
	return inboxText(list), panel
}

func (m *Model) panel(user string) (out []string) {
	for _, v := range m.ThreadList(user) {
		out = append(out, panelLine(v.ChannelID, v.ThreadID, v.Unread, v.Mentions, v.Muted, v.LastReply.At))
	}
	slices.Sort(out)
	return out
}

func panelLine(channelID, threadID string, unread, mentions uint32, muted bool, repliedAt int64) string {
	return fmt.Sprintf("[%s in %s: unread %d, mentions %d, muted %t, replied at %d]", threadID, channelID, unread, mentions, muted, repliedAt)
}

type differences struct{ lines []string }

func (d *differences) addf(format string, args ...any) {
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *differences) compare(what string, want any, wantOK bool, got any, gotOK bool) {
	switch {
	case wantOK != gotOK:
		d.addf("%s: model says there is one: %t, fold: %t", what, wantOK, gotOK)
	case !wantOK || reflect.DeepEqual(want, got):
	case reflect.TypeOf(want).Kind() == reflect.Struct:
		d.addf("%s: the fold differs from the model\n%s", what, Differences(got, want))
	default:
		d.addf("%s:\n  model %+v\n  fold  %+v", what, want, got)
	}
}

// Differences returns a line for each field in which two structs of one type differ, with both
// values; "" if there is none. An empty list equals a nil one.
func Differences(got, want any) string {
	var lines []string
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		if is, was := fmt.Sprintf("%+v", g.Field(i)), fmt.Sprintf("%+v", w.Field(i)); is != was {
			lines = append(lines, fmt.Sprintf("    %s is %s, want %s", g.Type().Field(i).Name, is, was))
		}
	}
	return strings.Join(lines, "\n")
}

// normalView replaces equivalent values by the same one: nil and empty lists, and times without a
// meaning.
func normalView(v projections.View) projections.View {
	if v.LastRead.Seq == 0 {
		v.LastReadAt = 0
	}
	v.Excluded = normalList(v.Excluded)
	v.Mentioned = normalList(v.Mentioned)
	return v
}

func normalExplanation(x projections.Explanation) projections.Explanation {
	if x.Pointer.Seq == 0 {
		x.PointerAt, x.Event = 0, projections.Event{}
	}
	x.MessageIDs = normalList(x.MessageIDs)
	return x
}

func normalList[T any](l []T) []T {
	if len(l) == 0 {
		return nil
	}
	return l
}

// inbox returns the fold's view of a user's channels, by id.
func inbox(p Folded, user string) (string, error) {
	var entries []projections.InboxEntry
	err := p.Inbox(user, func(e *projections.InboxEntry) bool {
		c := *e
		c.ChannelID = slices.Clone(e.ChannelID)
		entries = append(entries, c)
		return true
	})
	slices.SortFunc(entries, func(a, b projections.InboxEntry) int {
		return strings.Compare(string(a.ChannelID), string(b.ChannelID))
	})
	return inboxText(entries), err
}

func inboxText(entries []projections.InboxEntry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "[%s: unread %d, mentions %d, muted %t, latest at %d]", e.ChannelID, e.Unread, e.Mentions, e.Muted, e.LatestAt)
	}
	return b.String()
}
