package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/erase"
	"github.com/tidemark/tidemark/snapshot"
)

type eraseUserCmd struct {
	topicsFlags
	brokersFlags
	redisFlags
	nodeFlags
	jsonFlag
	User      string        `required:"" placeholder:"ID" help:"User id."`
	Channel   []string      `placeholder:"ID" help:"Only in these channels; else in all that know of the user."`
	NoRedis   bool          `help:"Leave what is cached to the cache role alone."`
	Snapshots string        `placeholder:"URL" help:"Where snapshots are, to name those from before the erasure."`
	Wait      time.Duration `default:"30s" placeholder:"DURATION" help:"How long the nodes, and then the cache, may take to follow (${default})."`
	DryRun    bool          `help:"Only say where the user is known, and what would remain."`
}

func (eraseUserCmd) Help() string {
	return `
Makes a user disappear: writes that he left each channel that knows of him, and a user_erased to it, which forgets what he read,
marked, muted and followed there, his receipts and deliveries; waits until both are folded; takes what is left of him out of
Redis; and says what remains where until when. The events are folded like any others, so a replay erases, too. His messages
stay: who wants them gone writes a message_deleted for each. Take his tokens away first: what he does afterwards counts again.
It may be run again at any time, and goes on where it was.

Example:

    tidemark erase-user --user ann --dry-run
    tidemark erase-user --user ann --brokers kafka-1:9092 --redis redis://redis:6379 --addr http://node-1:8080`
}

// Validate checks ids and numbers.
func (c *eraseUserCmd) Validate() error {
	for _, id := range append([]string{c.User}, c.Channel...) {
		if !events.ValidID([]byte(id)) {
			return fmt.Errorf("%q is no id: one has 1 to %d bytes and no control characters", id, events.MaxIDBytes)
		}
	}
	if c.Wait <= 0 {
		return fmt.Errorf("--wait %s: it must be above 0", c.Wait)
	}
	return c.nodeFlags.Validate()
}

// Run erases and prints what was done.
func (c *eraseUserCmd) Run(a *app) (err error) {
	conf := erase.Config{
		User: c.User, Channels: c.Channel, DryRun: c.DryRun, Query: c.service(), Topics: c.topics(),
		Patience: c.Wait, Report: newProgress(a, "erase-user").phase,
	}
	if c.Snapshots != "" {
		if conf.Snapshots, err = (bucketFlags{Snapshots: c.Snapshots}).open(snapshot.Options{}); err != nil {
			return err
		}
	}
	if !c.NoRedis {
		redisConf, err := c.redis(a)
		if err != nil {
			return err
		}
		o, err := redisConf.Options()
		if err != nil {
			return usagef("%v", err)
		}
		conf.Redis = redis.NewClient(o)
		defer func() { err = errors.Join(err, conf.Redis.Close()) }()
		if err := conf.Redis.Ping(a.ctx).Err(); err != nil {
			return fmt.Errorf("no Redis answers at %s (%w): name it with --redis, or leave it out with --no-redis", o.Addr, err)
		}
	}
	conf.Kafka, err = c.client(a,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2 of the key, as Kafka's own
		kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		return err
	}
	defer conf.Kafka.Close()
	res, err := erase.Run(a.ctx, conf)
	if err != nil {
		if res != nil && len(res.After) > 0 {
			fmt.Fprintf(a.stderr, "erase-user: %s written before this failed; run it again, and it goes on\n", plural(len(res.After), "partition"))
		}
		return c.explain(err)
	}
	if c.JSON {
		return printJSON(a.stdout, res)
	}
	return c.print(a, res)
}

func (c *eraseUserCmd) print(a *app, res *erase.Result) error {
	user := printable(res.User)
	switch {
	case len(res.Channels) == 0:
		fmt.Fprintf(a.stdout, "%s: no channel knows of this user\n", user)
	case res.DryRun:
		t := newTable("CHANNEL", "MEMBER", "")
		for _, ch := range res.Channels {
			member, note := "no", ""
			if ch.Member {
				member = "yes"
			}
			if ch.Done {
				note = "erased already"
			}
			t.row(printable(ch.ChannelID), member, note)
		}
		if err := t.print(a.stdout); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "\n%s would leave %s and be erased in %d; %d have nothing of him left. Nothing was written.\n", user,
			plural(res.Left, "channel"), res.Erased, res.Already)
	default:
		fmt.Fprintf(a.stdout, "%s left %s and was erased in %d; %d had nothing of him left. All of it is folded.\n", user,
			plural(res.Left, "channel"), res.Erased, res.Already)
	}
	if r := res.Redis; r != nil {
		by := "the cache role has taken out what it wrote"
		if !r.Waited {
			by = "the cache role did not follow in time, what it still has to apply says the same"
		}
		fmt.Fprintf(a.stdout, "Redis: %s; %d other keys and fields removed\n", by, r.Removed)
	}
	fmt.Fprintln(a.stdout, "\nWhat remains:")
	t := newTable("WHERE", "UNTIL", "WHAT")
	for _, m := range res.Remains {
		until := m.For
		if m.Until != nil {
			until = "until " + m.Until.UTC().Format("2006-01-02 15:04 MST")
		}
		t.row(m.Where, until, m.What)
	}
	return t.print(a.stdout)
}
