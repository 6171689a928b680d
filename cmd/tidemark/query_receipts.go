package main

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryReceiptsCmd struct {
	queryFlags
	Channel   string `arg:"" help:"Channel id."`
	Message   string `arg:"" help:"Message id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Recipients of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Go on where the page before ended."`
}

func (queryReceiptsCmd) Help() string {
	return `
Recipients are the members when the message was posted, without its sender. Times are told for 90 days.

Example:

    tidemark query receipts general m42`
}

// Run prints the status and one page of recipients.
func (c *queryReceiptsCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetReceiptsRequest{
		ChannelId: c.Channel, MessageId: c.Message, PageSize: c.PageSize, PageToken: c.PageToken, After: c.After,
	}, c.service().GetReceipts)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	if len(res.Recipients) > 0 {
		t := newTable("RECIPIENT", "STATUS", "DELIVERED", "READ")
		for _, r := range res.Recipients {
			t.row(r.UserId, r.Status, moment(r.DeliveredAt), moment(r.ReadAt))
		}
		if err := t.print(a.stdout); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.stdout, "%s: %s, read by %d, delivered to %d\n", res.Status, plural(res.RecipientCount, "recipient"), res.ReadCount, res.DeliveredCount)
	if res.NextPageToken != "" {
		fmt.Fprintf(a.stdout, "more: --page-token %s\n", res.NextPageToken)
	}
	return nil
}

// moment is a time of an answer, empty if it has none.
func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return clock(t.AsTime())
}

type queryReadersCmd struct {
	queryFlags
	Channel   string `arg:"" help:"Channel id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Members of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Go on where the page before ended."`
}

func (queryReadersCmd) Help() string {
	return `
Example:

    tidemark query readers general`
}

// Run prints one page of members.
func (c *queryReadersCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetReadersRequest{
		ChannelId: c.Channel, PageSize: c.PageSize, PageToken: c.PageToken, After: c.After,
	}, c.service().GetReaders)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	t := newTable("MEMBER", "HAS READ", "AT")
	for _, r := range res.Readers {
		t.row(r.UserId, shortRef(r.MessageId, r.Seq), moment(r.At))
	}
	if err := t.print(a.stdout); err != nil {
		return err
	}
	if res.NextPageToken != "" {
		fmt.Fprintf(a.stdout, "more: --page-token %s\n", res.NextPageToken)
	}
	return nil
}
