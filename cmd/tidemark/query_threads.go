package main

import (
	"fmt"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryThreadsCmd struct {
	queryFlags
	User      string `arg:"" help:"User id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Threads of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Go on where the page before ended."`
}

func (queryThreadsCmd) Help() string {
	return `
Lists the threads that the user follows while their last reply, or what he last did in them, is at most 30 days old.

Example:

    tidemark query threads ann`
}

// Run prints one page.
func (c *queryThreadsCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetThreadsRequest{
		UserId: c.User, PageSize: c.PageSize, PageToken: c.PageToken, After: c.After,
	}, c.service().GetThreads)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	if len(res.Threads) > 0 {
		t := newTable("CHANNEL", "THREAD", "UNREAD>", "MENTIONS>", "FIRST UNREAD", "LAST READ", "LAST REPLY", "AT")
		for _, th := range res.Threads {
			name := cut(printable(th.ChannelId), nameColumns)
			if th.Muted {
				name += " (muted)"
			}
			last, at := "", ""
			if l := th.LastReply; l != nil {
				last, at = cut(printable(l.SenderId+": "+l.Preview), 44), clock(l.At.AsTime())
			}
			t.row(name, cut(printable(th.ThreadId), nameColumns), th.Unread, th.Mentions, shortRef(th.FirstUnread.GetMessageId(), th.FirstUnread.GetSeq()),
				shortRef(th.LastRead.GetMessageId(), th.LastRead.GetSeq()), last, at)
		}
		if err := t.print(a.stdout); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "total: %d unread, %s (muted channels left out)\n", res.Totals.GetThreadUnread(),
		plural(res.Totals.GetThreadMentions(), "mention"))
	if res.NextPageToken != "" {
		fmt.Fprintf(a.stdout, "more: --page-token %s\n", res.NextPageToken)
	}
	return nil
}
