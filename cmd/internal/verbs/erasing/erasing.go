// Package erasing is `tidemark erase-user`: it erases a user, and can later search for traces.
package erasing

import (
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/snapshot"
)

// Cmd is `tidemark erase-user`.
type Cmd struct {
	verbs.TopicsFlags
	verbs.BrokersFlags
	verbs.RedisFlags
	verbs.NodeFlags
	verbs.JSONFlag
	verbs.YesFlag
	User      string        `required:"" env:"-" placeholder:"ID" help:"User id."`
	Channel   []string      `placeholder:"ID" help:"Erase only in these channels; by default in all that hold anything about the user."`
	NoRedis   bool          `help:"Do not touch Redis: leave it to the cache role."`
	Snapshots string        `placeholder:"URL" help:"Where snapshots are, to list those from before the erasure."`
	Wait      time.Duration `default:"30s" placeholder:"DURATION" help:"How long to wait until the nodes, and then the cache, have caught up (${default})."`
	DryRun    bool          `help:"Only list the channels that hold anything about the user, and what would remain."`

	Certificate    string `placeholder:"FILE" help:"Write a signed certificate of what was done to this file, which must not exist; needs --certificate-key."`
	CertificateKey string `placeholder:"FILE" help:"Private key that signs certificates: Ed25519, as PKCS #8 in PEM."`
	Scan           string `placeholder:"FILE" help:"Erase nothing: search for what the erasure with this certificate left behind, and if that is nothing, write a second certificate."`
}

// Help has examples.
func (Cmd) Help() string {
	return `
Erases a user. It writes a members_left to each channel that the user is a member of, and a user_erased to each that holds
anything about them. The erasure removes what they read, marked, muted and followed there, and their receipts and deliveries. The
command waits until both are folded, removes the user's keys from Redis, and prints what remains, where, and until when. The
events are folded like any others, so a replay erases too. The user's messages stay: write a message_deleted for each that has to
go. Revoke their tokens first: what they do afterwards counts again. You may run the command again at any time; it continues where
it stopped.

Example:

    tidemark erase-user --user ann --dry-run
    tidemark erase-user --user ann --yes --brokers kafka-1:9092 --redis redis://redis:6379 --addr http://node-1:8080
    tidemark erase-user --user ann --yes --certificate ann.json --certificate-key key.pem --snapshots s3://backups/tidemark
    tidemark erase-user --user ann --scan ann.json --certificate ann-later.json --certificate-key key.pem`
}

// Validate checks ids and numbers.
func (c *Cmd) Validate() error {
	ids := c.Channel
	if c.User != "" { // otherwise the parser reports the missing flag
		ids = append([]string{c.User}, ids...)
	}
	for _, id := range ids {
		if !events.ValidID([]byte(id)) {
			return fmt.Errorf("%q is not an id: an id has 1 to %d bytes and no control characters", id, events.MaxIDBytes)
		}
	}
	switch {
	case (c.Certificate != "" || c.Scan != "") && c.CertificateKey == "":
		return errors.New("--certificate and --scan need --certificate-key")
	case c.Scan != "" && c.DryRun, c.Certificate != "" && c.DryRun:
		return errors.New("--certificate needs an erasure, and --dry-run erases nothing")
	case c.Scan != "" && len(c.Channel) > 0:
		return errors.New("--scan searches all channels: leave out --channel")
	}
	if c.Wait <= 0 {
		return fmt.Errorf("--wait %s: it must be above 0", c.Wait)
	}
	return c.NodeFlags.Validate()
}

// Run erases and prints the result.
func (c *Cmd) Run(a *verbs.App) (err error) {
	key, err := c.certificateKey()
	if err != nil {
		return err
	}
	if !c.DryRun && c.Scan == "" {
		where := "every channel"
		if len(c.Channel) > 0 {
			where = term.Plural(len(c.Channel), "channel")
		}
		if err := c.Confirm(a, fmt.Sprintf("erases %s in %s, for good", term.Printable(c.User), where)); err != nil {
			return err
		}
	}
	conf := erase.Config{
		User: c.User, Channels: c.Channel, DryRun: c.DryRun, Query: c.Service(), Topics: c.Topics(),
		Patience: c.Wait, Report: verbs.NewProgress(a, "erase-user").Phase,
	}
	if c.Snapshots != "" {
		if conf.Snapshots, err = (verbs.BucketFlags{Snapshots: c.Snapshots}).Open(snapshot.Options{}); err != nil {
			return err
		}
	}
	if !c.NoRedis {
		redisConf, err := c.RedisConfig(a)
		if err != nil {
			return err
		}
		o, err := redisConf.Options()
		if err != nil {
			return verbs.Usagef("%v", err)
		}
		conf.Redis = redis.NewClient(o)
		defer func() { err = errors.Join(err, conf.Redis.Close()) }()
		if err := conf.Redis.Ping(a.Ctx).Err(); err != nil {
			return fmt.Errorf("no Redis answers at %s (%w): name it with --redis, or leave it out with --no-redis", o.Addr, err)
		}
	}
	conf.Kafka, err = c.Client(a,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), // murmur2 of the key, as Kafka's own
		kgo.RecordDeliveryTimeout(30*time.Second),
	)
	if err != nil {
		return err
	}
	defer conf.Kafka.Close()
	if c.Scan != "" {
		return c.scan(a, conf, key)
	}
	res, err := erase.Run(a.Ctx, conf)
	if err != nil {
		if res != nil && len(res.After) > 0 {
			fmt.Fprintf(a.Stderr, "erase-user: %s written before this error; run the command again to continue\n", term.Plural(len(res.After), "partition"))
		}
		return c.Explain(a, err)
	}
	if c.Certificate != "" {
		if err := res.Certificate(time.Now()).Write(c.Certificate, key); err != nil {
			return err
		}
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, res)
	}
	return c.print(a, res)
}

func (c *Cmd) print(a *verbs.App, res *erase.Result) error {
	user := term.Printable(res.User)
	switch {
	case len(res.Channels) == 0:
		fmt.Fprintf(a.Stdout, "%s: no channel holds anything about this user\n", user)
	case res.DryRun:
		t := term.NewTable("CHANNEL", "MEMBER", "")
		for _, ch := range res.Channels {
			member, note := "no", ""
			if ch.Member {
				member = "yes"
			}
			if ch.Done {
				note = "erased already"
			}
			t.Row(term.Printable(ch.ChannelID), member, note)
		}
		if err := t.Print(a.Stdout); err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "\n%s would leave %s and be erased in %d; %d hold nothing about them any more. Nothing was written.\n", user,
			term.Plural(res.Left, "channel"), res.Erased, res.Already)
	default:
		fmt.Fprintf(a.Stdout, "%s left %s and was erased in %d; %d held nothing about them any more. All events are folded.\n", user,
			term.Plural(res.Left, "channel"), res.Erased, res.Already)
	}
	if r := res.Redis; r != nil {
		by := "the cache role has removed its keys"
		if !r.Waited {
			by = "the cache role did not follow in time, and will apply the same removals"
		}
		fmt.Fprintf(a.Stdout, "Redis: %s; %d other keys and fields removed\n", by, r.Removed)
	}
	fmt.Fprintln(a.Stdout, "\nWhat remains:")
	t := term.NewTable("WHERE", "UNTIL", "WHAT")
	for _, m := range res.Remains {
		until := m.For
		if m.Until != nil {
			until = "until " + m.Until.UTC().Format("2006-01-02 15:04 MST")
		}
		t.Row(m.Where, until, m.What)
	}
	return t.Print(a.Stdout)
}
