package script

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/internal/test/model"
	"github.com/tidemark/tidemark/projections"
)

// FormatHidden describes how many messages above the pointer do not count because they are hidden;
// "" if none are.
func FormatHidden(x *projections.Explanation) string {
	if x.Excluded.Hidden == 0 {
		return ""
	}
	return fmt.Sprintf("| %d hidden", x.Excluded.Hidden)
}

// FormatMentions describes which of a user's mentions name them, and where the first one is.
func FormatMentions(name string, mentions, direct uint32, first projections.Ref) string {
	s := fmt.Sprintf("%s: %s, %d by name", name, plural(mentions, "mention"), direct)
	if first.Seq > 0 {
		s += ", first " + refName(first)
	}
	return s
}

// FormatViewers describes who viewed a message.
func FormatViewers(recipients []projections.Receipt) string {
	var w words
	for _, r := range recipients {
		if r.Viewed {
			w.add("| " + r.UserID + " viewed at " + FormatTime(r.ViewedAt))
		}
	}
	return strings.Join(w, " ")
}

// FormatTotals describes the totals of a user's channels.
func FormatTotals(user string, t *model.Totals) string {
	var w words
	w.add(fmt.Sprintf("%s: badge %d | %s in %s", user, t.Badge, counts(t.Unread, t.Mentions), plural(t.UnreadChannels, "channel")))
	if t.ThreadUnread > 0 || t.UnreadThreads > 0 {
		w.add(fmt.Sprintf("| %s in %s", counts(t.ThreadUnread, t.ThreadMentions), plural(t.UnreadThreads, "thread")))
	}
	if t.Flagged > 0 {
		w.add(fmt.Sprintf("| %d flagged", t.Flagged))
	}
	if t.ArchivedChannels > 0 || t.ArchivedMentions > 0 {
		w.add(fmt.Sprintf("| filed: %s unread, %s", plural(t.ArchivedChannels, "channel"), plural(t.ArchivedMentions, "mention")))
	}
	return strings.Join(w, " ")
}
