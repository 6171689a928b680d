package query

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type inboxCmd struct {
	listFlags
	User       string `arg:"" help:"User id."`
	UnreadOnly bool   `help:"Leave out channels without unread messages and without a flag."`
	Label      string `placeholder:"LABEL" help:"List only channels with this label. Totals are over all channels."`
	Archived   string `default:"without" enum:"without,only,all" placeholder:"WHICH" help:"Archived channels: without, only or all (${default})."`
	PageSize   uint32 `default:"50" placeholder:"N" help:"Channels of a page, at most 1000 (${default})."`
	PageToken  string `placeholder:"TOKEN" help:"Continue after the previous page."`
}

func (inboxCmd) Help() string {
	return `
Example:

    tidemark query inbox ann --unread-only
    tidemark query inbox ann --archived only`
}

// Run prints one page.
func (c *inboxCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.listFlags, &queryv1.GetInboxRequest{
		UserId: c.User, UnreadOnly: c.UnreadOnly, Label: c.Label, Archived: c.Archived, PageSize: c.PageSize, PageToken: c.PageToken, After: c.after(),
	}, queryv1connect.QueryServiceClient.GetInbox)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	if err := printInbox(a.Stdout, res.Channels, res.Totals); err != nil {
		return err
	}
	printByLabel(a.Stdout, res.TotalsByLabel)
	if res.NextPageToken != "" {
		fmt.Fprintf(a.Stdout, "more: --page-token %s\n", term.Printable(res.NextPageToken))
	}
	return nil
}

// inboxTable returns channels as rows.
func inboxTable(channels []*queryv1.ChannelUnread) *term.Table {
	t := term.NewTable("CHANNEL", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "LATEST", "AT")
	for _, ch := range channels {
		name := term.Cut(term.Printable(ch.ChannelId), term.NameColumns) + marks(ch)
		latest, at := "", ""
		if l := ch.Latest; l != nil {
			latest, at = term.Cut(term.Printable(l.SenderId+": "+l.Preview), 44), term.Clock(l.At.AsTime())
		}
		t.Row(name, ch.Unread, ch.Mentions, term.ShortRef(ch.FirstUnread.GetMessageId(), ch.FirstUnread.GetSeq()),
			term.ShortRef(ch.LastRead.GetMessageId(), ch.LastRead.GetSeq()), latest, at)
	}
	return t
}

func totalsLine(t *queryv1.Totals) string {
	threads := ""
	if n := t.GetThreadUnread(); n > 0 {
		threads = fmt.Sprintf(", %d unread in threads, %s there", n, term.Plural(t.GetThreadMentions(), "mention"))
	}
	return fmt.Sprintf("total: %d unread in %s, %s%s%s (muted channels left out)", t.GetUnread(),
		term.Plural(t.GetUnreadChannels(), "channel"), term.Plural(t.GetMentions(), "mention"), threads, badgeLine(t))
}

// printByLabel prints the totals of each label, in the order of the labels.
func printByLabel(w io.Writer, of map[string]*queryv1.Totals) {
	for _, label := range slices.Sorted(maps.Keys(of)) {
		t := of[label]
		fmt.Fprintf(w, "label %s: badge %d, %d unread in %s, %s%s\n", term.Printable(label), t.GetBadge(), t.GetUnread(),
			term.Plural(t.GetUnreadChannels(), "channel"), term.Plural(t.GetMentions(), "mention"), setApart(t))
	}
}

func printInbox(w io.Writer, channels []*queryv1.ChannelUnread, totals *queryv1.Totals) error {
	if len(channels) > 0 {
		if err := inboxTable(channels).Print(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, totalsLine(totals))
	return err
}
