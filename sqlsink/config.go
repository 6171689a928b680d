package sqlsink

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// DefaultGroup is the consumer group of the role sql.
const DefaultGroup = "tidemark-sql"

// DefaultFlush is the default of Config.Flush.
var DefaultFlush = Flush{Every: 15 * time.Second, Rows: 50_000}

// Flush sets when collected rows are written: after a time, or once there are this many.
type Flush struct {
	Every time.Duration
	Rows  int
}

// Config configures a Sink. Brokers and Database are required; all other fields have defaults.
type Config struct {
	// Brokers are the seed addresses.
	Brokers []string
	// ClientOptions are added to the options of the Kafka clients: TLS, SASL, a dialer, time
	// limits. They must not configure consuming, which the sink does itself.
	ClientOptions []kgo.Opt
	// Group is the consumer group; empty: DefaultGroup.
	Group string
	// Unread, Channels and Receipts name the topics; empty: those of package events.
	Unread, Channels, Receipts string

	// Database has the schema tidemark.
	Database *Address
	// Flush determines when rows are written. A batch is also written once its text has FlushBytes,
	// 32 MiB by default. While the database is being filled, a batch is written as soon as no more
	// records are at hand.
	Flush      Flush
	FlushBytes int
	// FetchBytes limits the records that are fetched ahead from one broker; 16 MiB by default.
	FetchBytes int32
	// CheckEvery is how long, at most, a wiped database goes unnoticed while there is nothing to
	// write; 5 s by default.
	CheckEvery time.Duration
	// CommitEvery is the minimum time between two commits of group offsets, and between two queries
	// for the ends of the logs; 1 s by default. Both serve lag monitors.
	CommitEvery time.Duration
	// SessionTimeout is how long a member may be silent before the group gives its partitions to
	// others; 10 s by default.
	SessionTimeout time.Duration
	// WriteTimeout limits one attempt to write a batch; 5 min by default.
	WriteTimeout time.Duration
	// RetryMin and RetryMax are the first and the longest pause after a failure; 50 ms and 5 s by
	// default.
	RetryMin, RetryMax time.Duration

	// Registerer registers the metrics; nil: they are not registered.
	Registerer prometheus.Registerer
	// Logger gets the log; nil: nothing is logged.
	Logger *slog.Logger

	// planted is called at named places; tests panic or fail in it. nil turns it off.
	planted func(where string) error
}

// plant lets a test fail at a place.
func (c *Config) plant(where string) error {
	if c.planted == nil {
		return nil
	}
	return c.planted(where)
}

// topics returns the topics to read.
func (c *Config) topics() []string { return []string{c.Unread, c.Channels, c.Receipts} }

// withDefaults checks c and fills in defaults.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Brokers) == 0:
		return c, errors.New("sqlsink: no brokers are configured")
	case c.Database == nil:
		return c, errors.New("sqlsink: no database is configured")
	}
	c.Group = cmp.Or(c.Group, DefaultGroup)
	c.Unread = cmp.Or(c.Unread, events.TopicUnread)
	c.Channels = cmp.Or(c.Channels, events.TopicChannels)
	c.Receipts = cmp.Or(c.Receipts, events.TopicReceipts)
	c.Flush.Every = cmp.Or(c.Flush.Every, DefaultFlush.Every)
	c.Flush.Rows = cmp.Or(c.Flush.Rows, DefaultFlush.Rows)
	c.FlushBytes = cmp.Or(c.FlushBytes, 32<<20)
	c.FetchBytes = cmp.Or(c.FetchBytes, 16<<20)
	c.CheckEvery = cmp.Or(c.CheckEvery, 5*time.Second)
	c.CommitEvery = cmp.Or(c.CommitEvery, time.Second)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 5*time.Minute)
	c.RetryMin = cmp.Or(c.RetryMin, 50*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, 5*time.Second)
	if c.Unread == c.Channels || c.Unread == c.Receipts || c.Channels == c.Receipts {
		return c, fmt.Errorf("sqlsink: the topics %q, %q and %q must be three", c.Unread, c.Channels, c.Receipts)
	}
	for _, v := range []struct {
		name string
		bad  bool
	}{
		{"Flush.Every is negative", c.Flush.Every < 0}, {"Flush.Rows is negative", c.Flush.Rows < 1},
		{"FlushBytes is negative", c.FlushBytes < 1}, {"FetchBytes is negative", c.FetchBytes < 1},
		{"CheckEvery is negative", c.CheckEvery < 0}, {"CommitEvery is negative", c.CommitEvery < 0},
		{"SessionTimeout is negative", c.SessionTimeout < 0}, {"WriteTimeout is negative", c.WriteTimeout < 0},
		{"RetryMin is negative", c.RetryMin < 0}, {"RetryMax is below RetryMin", c.RetryMax < c.RetryMin},
	} {
		if v.bad {
			return c, fmt.Errorf("sqlsink: %s", v.name)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
