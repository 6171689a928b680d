package main

import (
	"strings"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryChannelCmd struct {
	queryFlags
	Channel string `arg:"" help:"Channel id."`
}

func (queryChannelCmd) Help() string {
	return `
Example:

    tidemark query channel general`
}

// Run prints the channel.
func (c *queryChannelCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetChannelRequest{ChannelId: c.Channel, After: c.After}, c.service().GetChannel)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	f := newFields(a.stdout)
	size := "small: each message makes a delta for each member"
	if res.Large {
		size = "large: readers derive the counts"
	}
	f.add("members", res.MemberCount)
	f.add("size", size)
	f.add("messages", res.HeadSeq)
	f.add("counted", res.HeadPos)
	f.add("latest", latestLine(res.Latest))
	f.add("as of", strings.Join(res.AsOf, " "))
	return f.print()
}
