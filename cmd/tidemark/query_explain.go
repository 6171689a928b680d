package main

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryExplainCmd struct {
	queryFlags
	User    string `arg:"" help:"User id."`
	Channel string `arg:"" help:"Channel id."`
	Thread  string `placeholder:"ID" help:"Explain this thread of the channel instead."`
}

func (queryExplainCmd) Help() string {
	return `
Lists the messages that are counted, says how many above the read pointer are not and why, and names the record that
put the pointer where it is.

Example:

    tidemark query explain ann general`
}

// Run prints the explanation.
func (c *queryExplainCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.ExplainUnreadRequest{UserId: c.User, ChannelId: c.Channel, ThreadId: c.Thread, After: c.After},
		c.service().ExplainUnread)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	f := newFields(a.stdout)
	f.add("unread", res.Unread)
	f.add("messages", messageList(res.MessageIds, int(res.Unread)))
	x := res.Excluded
	var not []string
	for _, e := range []struct {
		n         uint32
		one, many string
	}{
		{x.GetOwn(), "own", "own"}, {x.GetDeleted(), "deleted", "deleted"}, {x.GetSilent(), "silent", "silent"},
		{x.GetThread(), "reply in a thread", "replies in threads"}, {x.GetReadSingly(), "read singly", "read singly"},
		{x.GetBeforeJoin(), "from before joining", "from before joining"},
	} {
		switch e.n {
		case 0:
		case 1:
			not = append(not, "1 "+e.one)
		default:
			not = append(not, fmt.Sprintf("%d %s", e.n, e.many))
		}
	}
	if len(not) == 0 {
		not = []string{"none"}
	}
	f.add("not counted", strings.Join(not, ", "))
	if p := res.Pointer; p != nil {
		f.add("pointer", withTime(reference(p.MessageId, p.Seq), p.At))
		f.add("put there by", p.Event)
	} else {
		f.add("pointer", "- (nothing was read)")
	}
	f.add("as of", strings.Join(res.AsOf, " "))
	return f.print()
}
