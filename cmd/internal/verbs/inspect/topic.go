package inspect

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
)

type topicCmd struct {
	verbs.BrokersFlags
	verbs.JSONFlag
	Name      string `arg:"" help:"Topic."`
	Partition int32  `default:"-1" placeholder:"P" help:"Only this partition; -1 = all (${default})."`
	Offset    int64  `default:"-1" placeholder:"OFFSET" help:"Decode records from this offset on; -1 = the newest (${default})."`
	Records   int    `default:"0" placeholder:"N" help:"Decode so many records of each partition (${default})."`
}

func (topicCmd) Help() string {
	return `
Shows where the log of each partition starts and ends, and decodes records if asked to: ids, times and counts, never
the text of messages.

Example:

    tidemark inspect topic chat.reads
    tidemark inspect topic chat.messages --partition 3 --offset 1200 --records 10`
}

// Validate checks the numbers.
func (c *topicCmd) Validate() error {
	if c.Records < 0 || c.Partition < -1 || c.Offset < -1 {
		return fmt.Errorf("--records, --partition and --offset must not be negative")
	}
	return nil
}

// PartitionInfo is one partition as JSON.
type PartitionInfo struct {
	Partition int32 `json:"partition"`
	Leader    int32 `json:"leader"`
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
}

// Run prints the partitions, then the records. With --json it is one object for each, partitions
// first.
func (c *topicCmd) Run(a *verbs.App) error {
	cl, err := c.Client(a)
	if err != nil {
		return err
	}
	spans, err := verbs.SpansOf(a.Ctx, kadm.NewClient(cl), c.Name)
	cl.Close()
	if err != nil {
		return err
	}
	if c.Partition >= 0 {
		if spans, err = verbs.Only(spans, c.Name, c.Partition); err != nil {
			return err
		}
	}
	if err := c.printPartitions(a, spans); err != nil || c.Records == 0 {
		return err
	}
	for i := range spans {
		s := &spans[i]
		if c.Offset >= 0 {
			s.From = max(s.From, c.Offset)
			s.To = min(s.To, s.From+int64(c.Records))
		} else {
			s.From = max(s.From, s.To-int64(c.Records))
		}
	}
	return c.printRecords(a, spans)
}

func (c *topicCmd) printPartitions(a *verbs.App, spans []verbs.Span) error {
	t := term.NewTable("PARTITION>", "LEADER>", "START>", "END>", "OFFSETS>")
	var total int64
	for _, s := range spans {
		total += s.To - s.From
		if !c.JSON {
			t.Row(s.Partition, s.Leader, s.From, s.To, s.To-s.From)
			continue
		}
		if err := term.PrintJSON(a.Stdout, PartitionInfo{s.Partition, s.Leader, s.From, s.To}); err != nil {
			return err
		}
	}
	if c.JSON {
		return nil
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Stdout, "%s, %s\n", term.Plural(len(spans), "partition"), term.Plural(total, "offset"))
	return err
}

func (c *topicCmd) printRecords(a *verbs.App, spans []verbs.Span) error {
	var all []RecordInfo
	var d recordDecoder
	err := verbs.ReadSpans(a, c.BrokersFlags, c.Name, spans, func(r *kgo.Record) error {
		info := d.describe(r)
		if c.JSON {
			return term.PrintJSON(a.Stdout, info)
		}
		all = append(all, info)
		return nil
	})
	if err != nil || c.JSON || len(all) == 0 {
		return err
	}
	slices.SortStableFunc(all, func(x, y RecordInfo) int { return int(x.Partition - y.Partition) })
	t := term.NewTable("PARTITION>", "OFFSET>", "TIME", "KEY", "BYTES>", "KIND", "WHAT")
	for _, r := range all {
		t.Row(r.Partition, r.Offset, r.Time.Local().Format("2006-01-02 15:04:05.000"), term.Cut(term.Printable(r.Key), term.NameColumns), r.Bytes, r.Kind, r.What)
	}
	fmt.Fprintln(a.Stdout)
	return t.Print(a.Stdout)
}
