package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tidemark/tidemark/app/travel"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

type diffCmd struct {
	verbs.JSONFlag
	verbs.NodeFlags
	verbs.PastFlags `group:"Who folds:"`
	User            string `arg:"" help:"User id."`
	From            string `required:"" placeholder:"MOMENT" help:"The first moment: a time, such as '2026-11-20 10:32' (of this machine's zone) or 2026-11-20T10:32:00Z; or the as_of of an answer, its tokens separated by commas."`
	To              string `required:"" placeholder:"MOMENT" help:"The second moment."`
	Channel         string `placeholder:"ID" help:"Only in this channel: one partition is folded, instead of all."`
	Records         int    `default:"100" placeholder:"N" help:"How many records of a channel to list, at most 1000 (${default})."`
}

func (diffCmd) Help() string {
	return `
Shows what changed for a user between two moments, channel by channel, and lists the records between them that concern the user:
posts, edits and deletions, and what the user did. The node, or with --offline this process, folds the topics to the first moment,
queries them, continues to the second moment, and queries them again; see tidemark query. It does not compare threads.

Example:

    tidemark diff ann --from 2026-11-20T10:30 --to 2026-11-20T10:32 --channel general
    tidemark diff ann --from 2026-11-20T10:30 --to 2026-11-20T10:32 --offline --brokers kafka-1:9092`
}

// Validate checks moments and numbers.
func (c *diffCmd) Validate() error {
	if c.Records < 1 || c.Records > 1000 {
		return fmt.Errorf("--records %d: it must be 1 to 1000", c.Records)
	}
	if c.From != "" && c.To != "" { // otherwise the parser reports the missing flag
		if _, err := c.question(); err != nil {
			return err
		}
	}
	return c.NodeFlags.Validate()
}

func (c *diffCmd) question() (q travel.Question, err error) {
	q = travel.Question{UserID: c.User, ChannelID: c.Channel, Records: c.Records}
	if q.From, err = travel.ParseMoment(c.From, time.Local); err != nil {
		return q, errors.New("--from: " + err.Error())
	}
	if q.To, err = travel.ParseMoment(c.To, time.Local); err != nil {
		return q, errors.New("--to: " + err.Error())
	}
	return q, nil
}

// Run queries and prints the changes.
func (c *diffCmd) Run(a *verbs.App) error {
	q, err := c.question()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.Ctx, travel.Patience+verbs.QueryTimeout)
	defer cancel()
	var d *travel.Diff
	if c.Offline {
		g, gerr := c.Guide(a)
		if gerr != nil {
			return gerr
		}
		d, err = g.Diff(ctx, q)
	} else {
		d, err = c.Admin().Diff(ctx, q)
	}
	if err != nil {
		return c.Readable(err)
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, d)
	}
	return c.print(a.Stdout, d)
}

func (c *diffCmd) print(w io.Writer, d *travel.Diff) error {
	if len(d.Channels) == 0 {
		_, err := fmt.Fprintf(w, "nothing changed for %s\n", term.Printable(d.UserID))
		return err
	}
	for i := range d.Channels {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := printChanged(w, &d.Channels[i]); err != nil {
			return err
		}
	}
	return nil
}

func printChanged(w io.Writer, ch *travel.Changed) error {
	fmt.Fprintf(w, "channel %s\n", term.Printable(ch.ChannelID))
	fields := term.NewTable("FIELD", "BEFORE", "AFTER")
	for _, f := range ch.Fields {
		fields.Row(f.Name, orDash(f.From), orDash(f.To))
	}
	if err := fields.Print(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "as of before: %s\nas of after: %s\n", orDash(strings.Join(ch.FromAsOf, " ")), orDash(strings.Join(ch.ToAsOf, " ")))
	if len(ch.Records) == 0 {
		_, err := fmt.Fprintln(w, "no record between the moments concerns the user here")
		return err
	}
	records := term.NewTable("TIME", "RECORD", "EVENT", "BY", "MESSAGE")
	for _, r := range ch.Records {
		message := r.MessageID
		switch {
		case message == "" && r.Seq > 0:
			message = fmt.Sprintf("seq %d", r.Seq)
		case r.ThreadID != "":
			message += " (thread " + r.ThreadID + ")"
		}
		records.Row(r.Time.Local().Format("2006-01-02 15:04:05.000"), r.ID, r.Kind, r.By, message)
	}
	if err := records.Print(w); err != nil {
		return err
	}
	if ch.More > 0 {
		fmt.Fprintf(w, "and %d more (--records)\n", ch.More)
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
