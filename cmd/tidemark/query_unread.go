package main

import (
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/query/queryv1"
)

type queryUnreadCmd struct {
	queryFlags
	User    string `arg:"" help:"User id."`
	Channel string `arg:"" help:"Channel id."`
}

func (queryUnreadCmd) Help() string {
	return `
Example:

    tidemark query unread ann general
    tidemark query unread ann general --json --after chat.messages/2/17`
}

// Run prints what the user sees of the channel.
func (c *queryUnreadCmd) Run(a *app) error {
	res, err := ask(a, &c.queryFlags, &queryv1.GetUnreadRequest{UserId: c.User, ChannelId: c.Channel, After: c.After},
		c.service().GetUnread)
	if err != nil {
		return err
	}
	if c.JSON {
		return printProto(a.stdout, res)
	}
	f := newFields(a.stdout)
	member := "yes"
	if !res.Member {
		member = "no"
	}
	f.add("member", member)
	f.add("unread", res.Unread)
	f.add("mentions", res.Mentions)
	f.add("offline unread", res.OfflineUnread)
	f.add("first unread", reference(res.FirstUnread.GetMessageId(), res.FirstUnread.GetSeq()))
	f.add("last read", withTime(reference(res.LastRead.GetMessageId(), res.LastRead.GetSeq()), res.LastRead.GetAt()))
	f.add("latest", latestLine(res.Latest))
	if res.Muted {
		f.add("muted", "yes")
	}
	f.add("read epoch", res.ReadEpoch)
	f.add("as of", strings.Join(res.AsOf, " "))
	return f.print()
}

// reference is a message for people: its id and seq, "-" for none.
func reference(id string, seq uint32) string {
	switch {
	case seq == 0 && id == "":
		return "-"
	case id == "":
		return fmt.Sprintf("seq %d", seq)
	}
	return fmt.Sprintf("%s (seq %d)", id, seq)
}

func withTime(what string, at *timestamppb.Timestamp) string {
	if at == nil {
		return what
	}
	return what + ", " + clock(at.AsTime())
}

func latestLine(l *queryv1.Latest) string {
	if l == nil {
		return "-"
	}
	return fmt.Sprintf("%s, %s: %s", withTime(reference(l.MessageId, l.Seq), l.At), l.SenderId, l.Preview)
}

// fields prints names and values in two columns.
type fields struct {
	w     io.Writer
	names []string
	vals  []string
}

func newFields(w io.Writer) *fields { return &fields{w: w} }

func (f *fields) add(name string, value any) {
	f.names = append(f.names, name)
	f.vals = append(f.vals, printable(fmt.Sprint(value)))
}

func (f *fields) print() error {
	width := 0
	for _, n := range f.names {
		width = max(width, len(n))
	}
	for i, n := range f.names {
		if _, err := fmt.Fprintf(f.w, "%-*s  %s\n", width, n, f.vals[i]); err != nil {
			return err
		}
	}
	return nil
}
