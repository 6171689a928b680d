package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/rebuild"
	"github.com/tidemark/tidemark/processor"
)

type reshardCmd struct {
	brokersFlags
	foldFlags
	skipFlags
	jsonFlag
	FromPrefix        string `placeholder:"PREFIX" help:"Prefix of the old topics' names; none by default."`
	ToPrefix          string `placeholder:"PREFIX" help:"Prefix of the new topics' names, such as v2."`
	Partitions        int32  `required:"" placeholder:"N" help:"Partitions of the new topics."`
	ReplicationFactor int16  `default:"3" placeholder:"R" help:"Replicas of each new partition (${default}); 1 on a single broker."`
	Dir               string `required:"" placeholder:"DIR" help:"Empty directory with room for the stores of the old and of the new topics."`
}

func (reshardCmd) Help() string {
	return `
Moves to another number of partitions, by new topics: writes them from the old ones, each channel's records in order, rebuilds
the state from both, and checks that every user sees the same numbers in every channel. Then it says what to switch; the old
topics stay as they are. Stop the producers first: what is written meanwhile is not in the new topics. Exit code 3 if a number
differs.

Example:

    tidemark reshard --partitions 128 --to-prefix v2. --dir /var/lib/tidemark-reshard`
}

// Validate checks what is to be made.
func (c *reshardCmd) Validate() error {
	switch {
	case c.Partitions < 1 || c.ReplicationFactor < 1:
		return fmt.Errorf("--partitions and --replication-factor must be at least 1")
	case c.ToPrefix == c.FromPrefix:
		return fmt.Errorf("--to-prefix %q is that of the old topics: name another", c.ToPrefix)
	}
	return nil
}

// prefixed are the topics of package events under a prefix.
func prefixed(prefix string) processor.Topics {
	t := processor.Topics{Unread: prefix + events.TopicUnread, Channels: prefix + events.TopicChannels, Receipts: prefix + events.TopicReceipts, DeadLetters: prefix + events.TopicDeadLetters}
	for i, name := range events.InputTopics {
		t.Inputs[i] = prefix + name
	}
	return t
}

// Run copies, compares, and says what is to be done.
func (c *reshardCmd) Run(a *app) error {
	kafka, err := c.kafka()
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, usagef("--dir %s is not empty: name a directory that is, or is not there", c.Dir))
	}
	skip, err := c.skips()
	if err != nil {
		return err
	}
	if err := c.reachable(a); err != nil {
		return err
	}
	meters := map[string]*progress{}
	res, err := rebuild.Reshard(a.ctx, rebuild.ReshardConfig{
		Brokers: c.Brokers, ClientOptions: kafka.Options, From: prefixed(c.FromPrefix), To: prefixed(c.ToPrefix),
		Partitions: c.Partitions, Replication: c.ReplicationFactor, Dir: c.Dir, Settings: c.settings(), Skip: skip,
		Logger: slog.New(slog.DiscardHandler),
		Report: func(phase string, p processor.RebuildProgress) {
			if meters[phase] == nil {
				meters[phase] = newProgress(a, "reshard: "+phase)
			}
			meters[phase].rebuild(p)
		},
	})
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(a.stdout, res)
	} else {
		c.print(a, res)
	}
	if err == nil && res.Total > 0 {
		err = errDifferences
	}
	return err
}

func (c *reshardCmd) print(a *app, res *rebuild.Resharded) {
	fmt.Fprintf(a.stdout, "%s copied to topics %s* with %s, %d left out as bad or skipped\n", plural(res.Copied, "record"), c.ToPrefix,
		plural(int64(c.Partitions), "partition"), res.Bad)
	fmt.Fprintf(a.stdout, "%s and %s of user and channel compared, %s\n", plural(res.Channels, "channel"), plural(res.Pairs, "pair"), plural(res.Total, "difference"))
	if res.Total > 0 {
		fmt.Fprintln(a.stdout)
		for _, d := range res.Differences {
			fmt.Fprintln(a.stdout, printable(strings.Replace(d.String(), "the topics say", "the old topics say", 1)))
		}
		fmt.Fprintln(a.stdout, "\nDo not switch: the new topics do not say the same.")
		return
	}
	fmt.Fprintf(a.stdout, `
Every number is the same. To switch:
  1. stop all nodes and gateways
  2. wipe Redis, and start nodes and gateways with --topic-prefix %[4]s and a new --group, the nodes with empty data directories
  3. when /readyz is 200 everywhere, let producers write to the new topics: %[1]s, %[2]s, %[3]s
  4. the old topics, the old groups and %[5]s may go
`, c.ToPrefix+events.TopicMessages, c.ToPrefix+events.TopicReads, c.ToPrefix+events.TopicDeliveries, c.ToPrefix, c.Dir)
}
