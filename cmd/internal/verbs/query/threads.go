package query

import (
	"fmt"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type threadsCmd struct {
	listFlags
	User      string `arg:"" help:"User id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Threads of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Continue after the previous page."`
}

func (threadsCmd) Help() string {
	return `
Lists the threads that the user follows. A thread is listed while its last reply, or the user's last read or follow in it, is at
most 30 days old. A node with --thread-listing always lists threads of any age.

Example:

    tidemark query threads ann`
}

// Run prints one page.
func (c *threadsCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.listFlags, &queryv1.GetThreadsRequest{
		UserId: c.User, PageSize: c.PageSize, PageToken: c.PageToken, After: c.after(),
	}, queryv1connect.QueryServiceClient.GetThreads)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	if len(res.Threads) > 0 {
		t := term.NewTable("CHANNEL", "THREAD", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "LAST REPLY", "AT")
		for _, th := range res.Threads {
			name := term.Cut(term.Printable(th.ChannelId), term.NameColumns)
			if th.Muted {
				name += " (muted)"
			}
			last, at := "", ""
			if l := th.LastReply; l != nil {
				last, at = term.Cut(term.Printable(l.SenderId+": "+l.Preview), 44), term.Clock(l.At.AsTime())
			}
			t.Row(name, term.Cut(term.Printable(th.ThreadId), term.NameColumns), th.Unread, th.Mentions, term.ShortRef(th.FirstUnread.GetMessageId(), th.FirstUnread.GetSeq()),
				term.ShortRef(th.LastRead.GetMessageId(), th.LastRead.GetSeq()), last, at)
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Stdout, "total: %d unread, %s (muted channels left out)\n", res.Totals.GetThreadUnread(),
		term.Plural(res.Totals.GetThreadMentions(), "mention"))
	if res.NextPageToken != "" {
		fmt.Fprintf(a.Stdout, "more: --page-token %s\n", term.Printable(res.NextPageToken))
	}
	return nil
}
