package query

import (
	"fmt"
	"strings"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type explainCmd struct {
	pastFlags
	User    string `arg:"" help:"User id."`
	Channel string `arg:"" help:"Channel id."`
	Thread  string `placeholder:"ID" help:"Explain this thread of the channel instead."`
}

func (explainCmd) Help() string {
	return `
Lists the counted messages, and how many messages above the read pointer do not count and why. It also names the record that set
the pointer.

Example:

    tidemark query explain ann general
    tidemark query explain ann general --thread m4
    tidemark query explain ann general --at 2026-11-20T10:32`
}

// Run prints the explanation.
func (c *explainCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.pastFlags, &queryv1.ExplainUnreadRequest{UserId: c.User, ChannelId: c.Channel, ThreadId: c.Thread, After: c.after()},
		queryv1connect.QueryServiceClient.ExplainUnread)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	f := term.NewFields(a.Stdout)
	f.Add("unread", res.Unread)
	f.Add("messages", term.MessageList(res.MessageIds, res.Unnamed, res.Unread))
	f.Add("not counted", notCounted(res.Excluded, c.Thread != ""))
	if p := res.Pointer; p != nil {
		f.Add("pointer", withTime(term.Reference(p.MessageId, p.Seq), p.At))
		f.Add("put there by", p.Event)
	} else {
		f.Add("pointer", "- (nothing was read)")
	}
	f.Add("as of", strings.Join(res.AsOf, " "))
	return f.Print()
}

// notCounted lists the messages that do not count, in the words for a channel or for a thread.
func notCounted(x *queryv1.Excluded, thread bool) string {
	before, elsewhere, elsewheres := "from before joining", "reply in a thread", "replies in threads"
	if thread {
		before, elsewhere, elsewheres = "from before following", "shown in the channel", "shown in the channel"
	}
	var not []string
	for _, e := range []struct {
		n         uint32
		one, many string
	}{
		{x.GetOwn(), "own", "own"}, {x.GetDeleted(), "deleted", "deleted"}, {x.GetSilent(), "silent", "silent"},
		{x.GetThread(), elsewhere, elsewheres}, {x.GetReadSingly(), "read singly", "read singly"},
		{x.GetBeforeJoin(), before, before}, {x.GetHidden(), "hidden", "hidden"},
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
		return "none"
	}
	return strings.Join(not, ", ")
}
