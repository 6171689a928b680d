package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/processor"
)

type reshardCmd struct {
	verbs.BrokersFlags
	verbs.FoldFlags
	verbs.SkipFlags
	verbs.JSONFlag
	FromPrefix        string `placeholder:"PREFIX" help:"Prefix of the old topics' names; none by default."`
	ToPrefix          string `placeholder:"PREFIX" help:"Prefix of the new topics' names, such as v2."`
	Partitions        int32  `required:"" placeholder:"N" help:"Partitions of the new topics."`
	ReplicationFactor int16  `default:"3" placeholder:"R" help:"Replicas of each new partition (${default}); 1 on a single broker."`
	Dir               string `required:"" placeholder:"DIR" help:"Empty directory with room for the stores of the old and of the new topics."`
}

func (reshardCmd) Help() string {
	return `
Moves to another number of partitions by copying the records to new topics, each channel's records in order. It rebuilds the state
from both sets of topics, and checks that every user sees the same numbers in every channel. Then it prints what to switch; the
old topics do not change. Stop the producers first: records written meanwhile are not in the new topics. The exit code is 3 if a
number differs.

Example:

    tidemark reshard --partitions 128 --to-prefix v2. --dir /var/lib/tidemark-reshard`
}

// Validate checks the numbers and the prefix.
func (c *reshardCmd) Validate() error {
	switch {
	case c.Partitions == 0 && c.Dir == "": // both are missing, which the parser reports
	case c.Partitions < 1 || c.ReplicationFactor < 1:
		return fmt.Errorf("--partitions and --replication-factor must be at least 1")
	case c.ToPrefix == c.FromPrefix:
		return fmt.Errorf("--to-prefix %q is the prefix of the old topics: name another", c.ToPrefix)
	}
	return nil
}

// Run copies, compares, and prints the next steps.
func (c *reshardCmd) Run(a *verbs.App) error {
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	if entries, err := os.ReadDir(c.Dir); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, verbs.Usagef("--dir %s is not empty: name an empty or a new directory", c.Dir))
	}
	skip, err := c.Skips()
	if err != nil {
		return err
	}
	if err := c.Reachable(a); err != nil {
		return err
	}
	meters := map[string]*verbs.Progress{}
	res, err := rebuild.Reshard(a.Ctx, rebuild.ReshardConfig{
		Brokers: c.Brokers, ClientOptions: kafka.Options, From: verbs.Prefixed(c.FromPrefix), To: verbs.Prefixed(c.ToPrefix),
		Partitions: c.Partitions, Replication: c.ReplicationFactor, Dir: c.Dir, Settings: c.Settings(), Skip: skip,
		Logger: slog.New(slog.DiscardHandler),
		Report: func(phase string, p processor.RebuildProgress) {
			if meters[phase] == nil {
				meters[phase] = verbs.NewProgress(a, "reshard: "+phase)
			}
			meters[phase].Rebuild(p)
		},
	})
	if err != nil {
		return err
	}
	if c.JSON {
		err = term.PrintJSON(a.Stdout, res)
	} else {
		c.print(a, res)
	}
	if err == nil && res.Total > 0 {
		err = verbs.ErrDifferences
	}
	return err
}

func (c *reshardCmd) print(a *verbs.App, res *rebuild.Resharded) {
	fmt.Fprintf(a.Stdout, "%s copied to topics %s* with %s, %d bad or skipped ones left out\n", term.Plural(res.Copied, "record"), c.ToPrefix,
		term.Plural(int64(c.Partitions), "partition"), res.Bad)
	fmt.Fprintf(a.Stdout, "%s and %s of user and channel compared, %s\n", term.Plural(res.Channels, "channel"), term.Plural(res.Pairs, "pair"), term.Plural(res.Total, "difference"))
	if res.Total > 0 {
		fmt.Fprintln(a.Stdout)
		for _, d := range res.Differences {
			fmt.Fprintln(a.Stdout, term.Printable(strings.Replace(d.String(), "the topics say", "the old topics say", 1)))
		}
		fmt.Fprintln(a.Stdout, "\nDo not switch: the new topics give other numbers.")
		return
	}
	fmt.Fprintf(a.Stdout, `
Every number is the same. To switch:
  1. stop all nodes and gateways
  2. wipe Redis, and start nodes and gateways with --topic-prefix %[4]s and a new --group, the nodes with empty data directories
  3. when /readyz is 200 everywhere, let producers write to the new topics: %[1]s, %[2]s, %[3]s
  4. the old topics, the old groups and %[5]s may go
`, c.ToPrefix+events.TopicMessages, c.ToPrefix+events.TopicReads, c.ToPrefix+events.TopicDeliveries, c.ToPrefix, c.Dir)
}
