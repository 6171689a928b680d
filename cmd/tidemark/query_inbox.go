package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryInboxCmd struct {
	queryFlags
	User       string `arg:"" help:"User id."`
	UnreadOnly bool   `help:"Leave out channels without unread messages."`
	PageSize   uint32 `default:"50" placeholder:"N" help:"Channels of a page, at most 1000 (${default})."`
	PageToken  string `placeholder:"TOKEN" help:"Go on where the page before ended."`
}

func (queryInboxCmd) Help() string {
	return `
Example:

    tidemark query inbox ann --unread-only`
}

// Run prints one page.
func (c *queryInboxCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetInboxRequest{
		UserId: c.User, UnreadOnly: c.UnreadOnly, PageSize: c.PageSize, PageToken: c.PageToken, After: c.After,
	}, c.service().GetInbox)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	if err := printInbox(a.stdout, res.Channels, res.Totals); err != nil {
		return err
	}
	if res.NextPageToken != "" {
		fmt.Fprintf(a.stdout, "more: --page-token %s\n", res.NextPageToken)
	}
	return nil
}

// inboxTable is channels as rows.
func inboxTable(channels []*queryv1.ChannelUnread) *table {
	t := newTable("CHANNEL", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "LATEST", "AT")
	for _, ch := range channels {
		name := cut(printable(ch.ChannelId), nameColumns)
		if ch.Muted {
			name += " (muted)"
		}
		latest, at := "", ""
		if l := ch.Latest; l != nil {
			latest, at = cut(printable(l.SenderId+": "+l.Preview), 44), clock(l.At.AsTime())
		}
		t.row(name, ch.Unread, ch.Mentions, shortRef(ch.FirstUnread.GetMessageId(), ch.FirstUnread.GetSeq()),
			shortRef(ch.LastRead.GetMessageId(), ch.LastRead.GetSeq()), latest, at)
	}
	return t
}

func totalsLine(t *queryv1.Totals) string {
	threads := ""
	if n := t.GetThreadUnread(); n > 0 {
		threads = fmt.Sprintf(", %d unread in threads, %s there", n, plural(t.GetThreadMentions(), "mention"))
	}
	return fmt.Sprintf("total: %d unread in %s, %s%s (muted channels left out)", t.GetUnread(),
		plural(t.GetUnreadChannels(), "channel"), plural(t.GetMentions(), "mention"), threads)
}

func printInbox(w io.Writer, channels []*queryv1.ChannelUnread, totals *queryv1.Totals) error {
	if len(channels) > 0 {
		if err := inboxTable(channels).print(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, totalsLine(totals))
	return err
}

// shortRef names a message by its seq, and by its id if that is short.
func shortRef(id string, seq uint32) string {
	if seq == 0 && id == "" {
		return ""
	}
	if id == "" || len(id) > 24 {
		return fmt.Sprintf("#%d", seq)
	}
	return strings.TrimSpace(fmt.Sprintf("#%d %s", seq, id))
}
