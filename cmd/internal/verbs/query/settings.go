package query

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
)

// addSettings adds the user's and the server's settings of a channel. An empty field has no line.
func addSettings(f *term.Fields, c *queryv1.ChannelUnread) {
	if c.DirectMentions > 0 {
		f.Add("by name", c.DirectMentions)
	}
	if m := c.FirstMention; m != nil {
		f.Add("first mention", term.Reference(m.MessageId, m.Seq))
	}
	if c.IgnoreMentionAll {
		f.Add("@all", "ignored")
	}
	if level := levelLine(c.Level, c.Until, c.LevelAfter); level != "" {
		f.Add("level", level)
	} else if c.Muted {
		f.Add("muted", "yes")
	}
	if c.Flagged {
		f.Add("flagged", "yes")
	}
	switch {
	case c.GetFiled().GetKeep():
		f.Add("archived", "by the user, for good")
	case c.Filed != nil:
		f.Add("archived", "by the user, until there is news")
	case c.Archived:
		f.Add("archived", "for everybody")
	}
	if l := c.Line; l != nil {
		f.Add("line", term.Reference(l.MessageId, l.Seq))
	}
	if len(c.Labels) > 0 {
		f.Add("labels", labelsLine(c.Labels))
	}
}

// levelLine is how a channel enters the badge; empty if all unread messages count, for good.
func levelLine(level eventsv1.NotifySet_Level, until *timestamppb.Timestamp, after eventsv1.NotifySet_Level) string {
	words := map[eventsv1.NotifySet_Level]string{
		eventsv1.NotifySet_ALL: "all", eventsv1.NotifySet_MENTIONS: "mentions only", eventsv1.NotifySet_NONE: "none (muted)",
	}
	if until != nil {
		return fmt.Sprintf("%s until %s, then %s", words[level], term.Clock(until.AsTime()), words[after])
	}
	if level == eventsv1.NotifySet_ALL {
		return ""
	}
	return words[level]
}

func labelsLine(labels []string) string {
	out := make([]string, len(labels))
	for i, l := range labels {
		out[i] = term.Printable(l)
	}
	return strings.Join(out, ", ")
}

// marks returns the words behind a channel's name in a table.
func marks(c *queryv1.ChannelUnread) string {
	var list []string
	switch {
	case c.Level == eventsv1.NotifySet_MENTIONS:
		list = append(list, "mentions only")
	case c.Muted:
		list = append(list, "muted")
	}
	if c.Until != nil {
		end := "until " + term.Clock(c.Until.AsTime())
		if len(list) > 0 {
			list[0] += " " + end
		} else {
			list = append(list, "all "+end)
		}
	}
	if c.Flagged {
		list = append(list, "flagged")
	}
	if c.Archived {
		list = append(list, "archived")
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// badgeLine is the part of the totals beside the sums of unread messages; empty if there is none.
func badgeLine(t *queryv1.Totals) string {
	var b strings.Builder
	if t.GetArchived() != nil && t.GetBadge() != t.GetUnread()+t.GetThreadUnread() { // an older node has neither
		fmt.Fprintf(&b, "; badge %d", t.GetBadge())
	}
	return b.String() + setApart(t)
}

// setApart is the part of the totals that no sum includes: flags, and archived channels.
func setApart(t *queryv1.Totals) string {
	var b strings.Builder
	if n := t.GetFlagged(); n > 0 {
		fmt.Fprintf(&b, "; %d flagged", n)
	}
	if a := t.GetArchived(); a.GetUnreadChannels() > 0 || a.GetMentions() > 0 {
		fmt.Fprintf(&b, "; archived: %s unread, %s", term.Plural(a.GetUnreadChannels(), "channel"), term.Plural(a.GetMentions(), "mention"))
	}
	return b.String()
}
