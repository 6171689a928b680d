package query

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

type unreadCmd struct {
	pastFlags
	User    string `arg:"" help:"User id."`
	Channel string `arg:"" help:"Channel id."`
}

func (unreadCmd) Help() string {
	return `
Example:

    tidemark query unread ann general
    tidemark query unread ann general --json --after chat.messages/2/17
    tidemark query unread ann general --at 2026-11-20T10:32
    tidemark query unread ann general --at chat.messages/2/17,chat.reads/2/4 --offline --brokers kafka-1:9092`
}

// Run prints what the user sees of the channel.
func (c *unreadCmd) Run(a *verbs.App) error {
	res, err := ask(a, &c.pastFlags, &queryv1.GetUnreadRequest{UserId: c.User, ChannelId: c.Channel, After: c.after()},
		queryv1connect.QueryServiceClient.GetUnread)
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintProto(a.Stdout, res)
	}
	f := term.NewFields(a.Stdout)
	member := "yes"
	if !res.Member {
		member = "no"
	}
	f.Add("member", member)
	f.Add("unread", res.Unread)
	f.Add("mentions", res.Mentions)
	f.Add("offline unread", res.OfflineUnread)
	f.Add("first unread", term.Reference(res.FirstUnread.GetMessageId(), res.FirstUnread.GetSeq()))
	f.Add("last read", withTime(term.Reference(res.LastRead.GetMessageId(), res.LastRead.GetSeq()), res.LastRead.GetAt()))
	f.Add("latest", latestLine(res.Latest))
	addSettings(f, res)
	f.Add("read epoch", res.ReadEpoch)
	f.Add("as of", strings.Join(res.AsOf, " "))
	return f.Print()
}

func withTime(what string, at *timestamppb.Timestamp) string {
	if at == nil {
		return what
	}
	return what + ", " + term.Clock(at.AsTime())
}

func latestLine(l *queryv1.Latest) string {
	if l == nil {
		return "-"
	}
	return fmt.Sprintf("%s, %s: %s", withTime(term.Reference(l.MessageId, l.Seq), l.At), l.SenderId, l.Preview)
}
