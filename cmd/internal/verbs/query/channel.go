package query

import (
	"strings"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type channelCmd struct {
	pastFlags
	Channel string `arg:"" help:"Channel id."`
}

func (channelCmd) Help() string {
	return `
Example:

    tidemark query channel general`
}

// Run prints the channel.
func (c *channelCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.pastFlags, &queryv1.GetChannelRequest{ChannelId: c.Channel, After: c.after()}, queryv1connect.QueryServiceClient.GetChannel)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	f := term.NewFields(a.Stdout)
	size := "small: each message makes a delta for each member"
	if res.Large {
		size = "large: readers derive the counts"
	}
	f.Add("members", res.MemberCount)
	f.Add("size", size)
	f.Add("messages", res.HeadSeq)
	f.Add("counted", res.HeadPos)
	f.Add("latest", latestLine(res.Latest))
	if res.Archived {
		f.Add("archived", "for everybody")
	}
	if len(res.Labels) > 0 {
		f.Add("labels", labelsLine(res.Labels))
	}
	f.Add("as of", strings.Join(res.AsOf, " "))
	return f.Print()
}
