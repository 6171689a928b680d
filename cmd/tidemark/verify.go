package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/app/rebuild"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/sqlsink"
)

type verifyCmd struct {
	verbs.BrokersFlags
	verbs.TopicsFlags
	verbs.RedisFlags
	verbs.SQLAddress
	verbs.PartitionsFlags
	verbs.SkipFlags
	verbs.JSONFlag
	verbs.YesFlag
	verbs.RunningFlags
	DataDir   string `default:"tidemark-data" placeholder:"DIR" help:"Data directory of a stopped node, or a copy of one (${default}). With --node the node's own directory, if it has another path here."`
	NoRedis   bool   `help:"Leave Redis out."`
	Repair    bool   `env:"-" help:"Replace a differing store with the rebuilt one, and remove wrong values from Redis. Without it verify changes nothing."`
	Limit     int    `default:"20" placeholder:"N" help:"How many differences to print; the rest are counted (${default})."`
	AcceptGap bool   `env:"-" help:"If the beginning of a log is gone, compare with a rebuild of the records that are left."`
}

func (verifyCmd) Help() string {
	return `
Rebuilds each partition of a data directory from the topics, up to the position of its store, and prints what differs: digests
first, then record by record; then Redis, key by key; with --sql the tables of the role sql, row by row. For a running node use
--node: it copies its stores while it runs. Stop any other node before you begin, and for --repair until
the verb ends. The rebuild runs on the node's machine and needs as much space again in the data directory. Redis may be slightly behind
or ahead: values that are newer than the store are not compared. The exit code is 3 if anything differs.

Example:

    tidemark verify --node http://127.0.0.1:8080 --brokers kafka-1:9092 --redis redis://redis:6379
    tidemark verify --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark
    tidemark verify --data-dir /var/lib/tidemark --partition 3 --no-redis --repair --yes`
}

// Validate checks the numbers.
func (c *verifyCmd) Validate() error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d: it must be at least 1", c.Limit)
	}
	if c.Repair && c.Node != "" {
		return errors.New("--repair replaces stores, and a running node uses them: stop the node, and leave out --node")
	}
	return c.Check()
}

// Run compares and prints the result.
func (c *verifyCmd) Run(a *verbs.App) (err error) {
	if c.Repair {
		if err := c.Confirm(a, "replaces the differing stores in "+c.DataDir+" with rebuilt ones, and removes wrong values from Redis"); err != nil {
			return err
		}
	}
	kafka, err := c.Kafka()
	if err != nil {
		return err
	}
	skip, err := c.Skips()
	if err != nil {
		return err
	}
	v := rebuild.Config{
		Skip:    skip,
		Brokers: c.Brokers, ClientOptions: kafka.Options, Topics: c.Topics(), DataDir: c.DataDir, Partitions: c.Partition, Repair: c.Repair,
		Limit: c.Limit, AcceptGap: c.AcceptGap, Logger: slog.New(slog.DiscardHandler), Report: verbs.NewProgress(a, "verify").Rebuild,
	}
	if !c.NoRedis {
		conf, err := c.RedisConfig(a)
		if err != nil {
			return err
		}
		o, err := conf.Options()
		if err != nil {
			return verbs.Usagef("%v", err)
		}
		client := redis.NewClient(o)
		defer func() { err = errors.Join(err, client.Close()) }()
		if err := client.Ping(a.Ctx).Err(); err != nil {
			return fmt.Errorf("no Redis answers at %s (%w): name it with --redis, or leave it out with --no-redis", o.Addr, err)
		}
		v.Redis = client
	}
	if err := c.Reachable(a); err != nil {
		return err
	}
	var missing error
	if c.Node != "" {
		if missing, err = c.ofNode(a, &v); err != nil {
			return err
		}
	}
	res, err := rebuild.Verify(a.Ctx, v)
	err = errors.Join(err, missing)
	var tables *sqlsink.Verified
	if err == nil {
		tables, err = c.VerifySQL(a, kafka, c.Topics(), c.Limit)
	}
	if res != nil && (err == nil || len(res.Partitions) > 0) {
		if perr := c.print(a, res, tables); perr != nil {
			return perr
		}
	}
	if err != nil {
		return err
	}
	if res.Total > 0 || tables != nil && tables.Differences > 0 {
		return verbs.ErrDifferences
	}
	return nil
}

// print prints the result; tables is nil without --sql.
func (c *verifyCmd) print(a *verbs.App, res *rebuild.Result, tables *sqlsink.Verified) error {
	if c.JSON {
		return term.PrintJSON(a.Stdout, struct {
			*rebuild.Result
			SQL *sqlsink.Verified `json:"sql,omitempty"`
		}{res, tables})
	}
	if tables != nil {
		defer verbs.PrintSQL(a, tables)
	}
	t := term.NewTable("PARTITION>", "POSITION", "DIGEST", "DIFFERENCES>")
	for _, p := range res.Partitions {
		t.Row(p.Partition, fmt.Sprint(p.Position), p.Digest, p.Differences)
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if r := res.Redis; r != nil {
		fmt.Fprintf(a.Stdout, "\nRedis: %s, %s of user and channel and %s compared, %s\n", term.Plural(r.Channels, "channel"), term.Plural(r.Pairs, "pair"),
			term.Plural(r.Threads, "followed thread"), term.Plural(r.Differences, "difference"))
		if r.Unknown > 0 {
			fmt.Fprintf(a.Stdout, "Redis has no counts for %d entries of large channels, and readers treat them as unknown\n", r.Unknown)
		}
		if r.Newer > 0 {
			fmt.Fprintf(a.Stdout, "%d values are further than the stores and were not compared\n", r.Newer)
		}
	}
	if r := res.Redis; r != nil && r.Late > 0 {
		fmt.Fprintf(a.Stdout, "%s not compared: the topics have newer ones, which no cache has read yet\n", term.Plural(r.Late, "value"))
	}
	if res.Total == 0 {
		_, err := fmt.Fprintln(a.Stdout, "\nno difference")
		return err
	}
	fmt.Fprintln(a.Stdout)
	for _, d := range res.Differences {
		fmt.Fprintln(a.Stdout, term.Printable(d.String()))
	}
	if more := res.Total - len(res.Differences); more > 0 {
		fmt.Fprintf(a.Stdout, "and %d more\n", more)
	}
	for _, p := range res.Partitions {
		if p.Repaired {
			fmt.Fprintf(a.Stdout, "partition %d: the rebuilt store is in place; the old one is in %s\n", p.Partition, res.Aside)
		}
	}
	if res.Redis != nil && res.Redis.Repaired {
		fmt.Fprintln(a.Stdout, "Redis: wrong values are removed, and a running cache fills Redis again from its topics")
	}
	return nil
}
