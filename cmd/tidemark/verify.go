package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/tidemark/tidemark/internal/rebuild"
)

type verifyCmd struct {
	brokersFlags
	topicsFlags
	redisFlags
	partitionsFlags
	skipFlags
	jsonFlag
	runningFlags
	DataDir   string `default:"tidemark-data" placeholder:"DIR" help:"Data directory of a node that is stopped, or a copy of one (${default}). With --node the node's own, if it is called otherwise here."`
	NoRedis   bool   `help:"Leave Redis out."`
	Repair    bool   `help:"Put the rebuilt store in the place of one that differs, and take out of Redis what is wrong there. Else nothing is changed."`
	Limit     int    `default:"20" placeholder:"N" help:"How many differences are printed; the rest is counted (${default})."`
	AcceptGap bool   `help:"Compare also where the beginning of a log is gone, with what is there."`
}

func (verifyCmd) Help() string {
	return `
Rebuilds each partition of a data directory from the topics, up to where its store is, and says what differs: digests first, then
record by record, in words; then Redis, key by key. A node that runs is named with --node, and copies its stores while it
goes on; one that is not named must be stopped when this begins, and for --repair until it ends. A rebuild runs on the node's
machine and needs as much room again in the data directory. Redis may be a moment behind or ahead: values that are further
than the store are not compared. Exit code 3 if anything differs.

Example:

    tidemark verify --node http://127.0.0.1:8080 --brokers kafka-1:9092 --redis redis://redis:6379
    tidemark verify --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark
    tidemark verify --data-dir /var/lib/tidemark --partition 3 --no-redis --repair`
}

// Validate checks the numbers.
func (c *verifyCmd) Validate() error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d: it must be at least 1", c.Limit)
	}
	if c.Repair && c.Node != "" {
		return errors.New("--repair puts stores in the place of others, which a node that runs has to itself: stop it, and leave out --node")
	}
	return c.check()
}

// Run compares and prints what it found.
func (c *verifyCmd) Run(a *app) (err error) {
	kafka, err := c.kafka()
	if err != nil {
		return err
	}
	skip, err := c.skips()
	if err != nil {
		return err
	}
	v := rebuild.Config{
		Skip:    skip,
		Brokers: c.Brokers, ClientOptions: kafka.Options, Topics: c.topics(), DataDir: c.DataDir, Partitions: c.Partition, Repair: c.Repair,
		Limit: c.Limit, AcceptGap: c.AcceptGap, Logger: slog.New(slog.DiscardHandler), Report: newProgress(a, "verify").rebuild,
	}
	if !c.NoRedis {
		conf, err := c.redis(a)
		if err != nil {
			return err
		}
		o, err := conf.Options()
		if err != nil {
			return usagef("%v", err)
		}
		client := redis.NewClient(o)
		defer func() { err = errors.Join(err, client.Close()) }()
		if err := client.Ping(a.ctx).Err(); err != nil {
			return fmt.Errorf("no Redis answers at %s (%w): name it with --redis, or leave it out with --no-redis", o.Addr, err)
		}
		v.Redis = client
	}
	if err := c.reachable(a); err != nil {
		return err
	}
	var missing error
	if c.Node != "" {
		if missing, err = c.ofNode(a, &v); err != nil {
			return err
		}
	}
	res, err := rebuild.Verify(a.ctx, v)
	if res != nil && (err == nil || len(res.Partitions) > 0) {
		if perr := c.print(a, res); perr != nil {
			return perr
		}
	}
	if err = errors.Join(err, missing); err != nil {
		return err
	}
	if res.Total > 0 {
		return errDifferences
	}
	return nil
}

func (c *verifyCmd) print(a *app, res *rebuild.Result) error {
	if c.JSON {
		return printJSON(a.stdout, res)
	}
	t := newTable("PARTITION>", "POSITION", "DIGEST", "DIFFERENCES>")
	for _, p := range res.Partitions {
		t.row(p.Partition, fmt.Sprint(p.Position), p.Digest, p.Differences)
	}
	if err := t.print(a.stdout); err != nil {
		return err
	}
	if r := res.Redis; r != nil {
		fmt.Fprintf(a.stdout, "\nRedis: %s, %s of user and channel and %s compared, %s\n", plural(r.Channels, "channel"), plural(r.Pairs, "pair"),
			plural(r.Threads, "followed thread"), plural(r.Differences, "difference"))
		if r.Unknown > 0 {
			fmt.Fprintf(a.stdout, "%d counts of large channels are not known to Redis, which says so\n", r.Unknown)
		}
		if r.Newer > 0 {
			fmt.Fprintf(a.stdout, "%d values are further than the stores and were not compared\n", r.Newer)
		}
	}
	if res.Total == 0 {
		_, err := fmt.Fprintln(a.stdout, "\nno difference")
		return err
	}
	fmt.Fprintln(a.stdout)
	for _, d := range res.Differences {
		fmt.Fprintln(a.stdout, printable(d.String()))
	}
	if more := res.Total - len(res.Differences); more > 0 {
		fmt.Fprintf(a.stdout, "and %d more\n", more)
	}
	for _, p := range res.Partitions {
		if p.Repaired {
			fmt.Fprintf(a.stdout, "partition %d: the rebuilt store is in place; that of before is in %s\n", p.Partition, res.Aside)
		}
	}
	if res.Redis != nil && res.Redis.Repaired {
		fmt.Fprintln(a.stdout, "Redis: what was wrong is taken out, and a running cache fills Redis again from its topics")
	}
	return nil
}
