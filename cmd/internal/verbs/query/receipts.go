package query

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type receiptsCmd struct {
	pastFlags
	Channel   string `arg:"" help:"Channel id."`
	Message   string `arg:"" help:"Message id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Recipients of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Continue after the previous page."`
}

func (receiptsCmd) Help() string {
	return `
Recipients are the members when the message was posted, without its sender. Times are available for
90 days.

Example:

    tidemark query receipts general m42
    tidemark query receipts general m42 --at 2026-11-20T10:32 --offline --snapshots s3://backups/tidemark`
}

// Run prints the status and one page of recipients.
func (c *receiptsCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.pastFlags, &queryv1.GetReceiptsRequest{
		ChannelId: c.Channel, MessageId: c.Message, PageSize: c.PageSize, PageToken: c.PageToken, After: c.after(),
	}, queryv1connect.QueryServiceClient.GetReceipts)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	if len(res.Recipients) > 0 {
		t := term.NewTable("RECIPIENT", "STATUS", "DELIVERED", "READ")
		if res.ViewedCount > 0 {
			t = term.NewTable("RECIPIENT", "STATUS", "DELIVERED", "READ", "VIEWED")
		}
		for _, r := range res.Recipients {
			row := []any{r.UserId, r.Status, moment(r.DeliveredAt), moment(r.ReadAt)}
			if res.ViewedCount > 0 {
				row = append(row, moment(r.ViewedAt))
			}
			t.Row(row...)
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
	}
	viewed := ""
	if res.ViewedCount > 0 {
		viewed = fmt.Sprintf(", viewed by %d", res.ViewedCount)
	}
	fmt.Fprintf(a.Stdout, "%s: %s, read by %d, delivered to %d%s\n", term.Printable(res.Status), term.Plural(res.RecipientCount, "recipient"), res.ReadCount, res.DeliveredCount, viewed)
	if res.NextPageToken != "" {
		fmt.Fprintf(a.Stdout, "more: --page-token %s\n", term.Printable(res.NextPageToken))
	}
	return nil
}

// moment returns a time of an answer, empty if it has none.
func moment(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return term.Clock(t.AsTime())
}

type readersCmd struct {
	pastFlags
	Channel   string `arg:"" help:"Channel id."`
	PageSize  uint32 `default:"50" placeholder:"N" help:"Members of a page, at most 1000 (${default})."`
	PageToken string `placeholder:"TOKEN" help:"Continue after the previous page."`
}

func (readersCmd) Help() string {
	return `
Example:

    tidemark query readers general`
}

// Run prints one page of members.
func (c *readersCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.pastFlags, &queryv1.GetReadersRequest{
		ChannelId: c.Channel, PageSize: c.PageSize, PageToken: c.PageToken, After: c.after(),
	}, queryv1connect.QueryServiceClient.GetReaders)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	t := term.NewTable("MEMBER", "HAS READ", "AT")
	for _, r := range res.Readers {
		t.Row(r.UserId, term.ShortRef(r.MessageId, r.Seq), moment(r.At))
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if res.NextPageToken != "" {
		fmt.Fprintf(a.Stdout, "more: --page-token %s\n", term.Printable(res.NextPageToken))
	}
	return nil
}
