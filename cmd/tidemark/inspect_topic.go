package main

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

type inspectTopicCmd struct {
	brokersFlags
	jsonFlag
	Name      string `arg:"" help:"Topic."`
	Partition int32  `default:"-1" placeholder:"P" help:"Only this partition; -1 = all (${default})."`
	Offset    int64  `default:"-1" placeholder:"OFFSET" help:"Decode records from this offset on; -1 = the newest (${default})."`
	Records   int    `default:"0" placeholder:"N" help:"Decode so many records of each partition (${default})."`
}

func (inspectTopicCmd) Help() string {
	return `
Shows where the log of each partition starts and ends, and decodes records if asked to: ids, times and counts, never
the text of messages.

Example:

    tidemark inspect topic chat.reads
    tidemark inspect topic chat.messages --partition 3 --offset 1200 --records 10`
}

// Validate checks the numbers.
func (c *inspectTopicCmd) Validate() error {
	if c.Records < 0 || c.Partition < -1 || c.Offset < -1 {
		return fmt.Errorf("--records, --partition and --offset must not be negative")
	}
	return nil
}

// partitionInfo is one partition as JSON.
type partitionInfo struct {
	Partition int32 `json:"partition"`
	Leader    int32 `json:"leader"`
	Start     int64 `json:"start"`
	End       int64 `json:"end"`
}

// Run prints the partitions, then the records. With --json it is one object for each, partitions first.
func (c *inspectTopicCmd) Run(a *app) error {
	cl, err := c.client(a)
	if err != nil {
		return err
	}
	spans, err := spansOf(a.ctx, kadm.NewClient(cl), c.Name)
	cl.Close()
	if err != nil {
		return err
	}
	if c.Partition >= 0 {
		if spans, err = only(spans, c.Name, c.Partition); err != nil {
			return err
		}
	}
	if err := c.printPartitions(a, spans); err != nil || c.Records == 0 {
		return err
	}
	for i := range spans {
		s := &spans[i]
		if c.Offset >= 0 {
			s.from = max(s.from, c.Offset)
			s.to = min(s.to, s.from+int64(c.Records))
		} else {
			s.from = max(s.from, s.to-int64(c.Records))
		}
	}
	return c.printRecords(a, spans)
}

func (c *inspectTopicCmd) printPartitions(a *app, spans []span) error {
	t := newTable("PARTITION>", "LEADER>", "START>", "END>", "OFFSETS>")
	var total int64
	for _, s := range spans {
		total += s.to - s.from
		if !c.JSON {
			t.row(s.partition, s.leader, s.from, s.to, s.to-s.from)
			continue
		}
		if err := printJSON(a.stdout, partitionInfo{s.partition, s.leader, s.from, s.to}); err != nil {
			return err
		}
	}
	if c.JSON {
		return nil
	}
	if err := t.print(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "%s, %s\n", plural(len(spans), "partition"), plural(total, "offset"))
	return err
}

func (c *inspectTopicCmd) printRecords(a *app, spans []span) error {
	var all []recordInfo
	var d recordDecoder
	err := readSpans(a, c.brokersFlags, c.Name, spans, func(r *kgo.Record) error {
		info := d.describe(r)
		if c.JSON {
			return printJSON(a.stdout, info)
		}
		all = append(all, info)
		return nil
	})
	if err != nil || c.JSON || len(all) == 0 {
		return err
	}
	slices.SortStableFunc(all, func(x, y recordInfo) int { return int(x.Partition - y.Partition) })
	t := newTable("PARTITION>", "OFFSET>", "TIME", "KEY", "BYTES>", "KIND", "WHAT")
	for _, r := range all {
		t.row(r.Partition, r.Offset, r.Time.Local().Format("2006-01-02 15:04:05.000"), cut(printable(r.Key), nameColumns), r.Bytes, r.Kind, r.What)
	}
	fmt.Fprintln(a.stdout)
	return t.print(a.stdout)
}
