package museum

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/query/ingestv1"
	"github.com/tidemark/tidemark/query/queryv1"
)

// showList returns the names of the channels in a part of the inbox.
func (l *tale) showList(q *question) string {
	l.t.Helper()
	r := &queryv1.GetInboxRequest{UserId: q.wireUser, PageSize: 1000, After: l.after}
	switch q.list {
	case "unread":
		r.UnreadOnly = true
	case "archived":
		r.Archived = "only"
	default:
		l.t.Fatalf("%s: there is no list %q: ask for unread or archived", l.name, q.list)
	}
	text := q.user + ":"
	for _, c := range asked(l, l.site.query.GetInbox, r).Channels {
		text += fmt.Sprintf(" #%s %d unread", l.names[c.ChannelId], c.Unread)
		if c.Flagged {
			text += ", flagged"
		}
		text += " |"
	}
	return strings.TrimRight(text, " |")
}

// markAllRead makes one call of MarkAllRead.
func (l *tale) markAllRead(user string, words []string) string {
	l.t.Helper()
	r := &ingestv1.MarkAllReadRequest{UserId: l.wireUser(user), Threads: slices.Contains(words, "threads"), After: l.after}
	if i := slices.Index(words, "label"); i >= 0 && i+1 < len(words) {
		r.Label = words[i+1]
	}
	res := asked(l, l.site.ingest.MarkAllRead, r)
	l.after = append(l.after, res.After...)
	return fmt.Sprintf("%s: marked %s", user, plural(res.Channels, "channel"))
}
