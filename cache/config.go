package cache

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/cache/internal/format"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/trace"
)

// DefaultGroup is the consumer group of the cache role.
const DefaultGroup = "tidemark-cache"

// Config configures a Cache. Brokers and Redis are required; all other fields have defaults.
type Config struct {
	// Brokers are the seed addresses.
	Brokers []string
	// ClientOptions are added to the options of the Kafka clients: TLS, SASL, a dialer, time
	// limits. They must not configure consuming, which the cache does itself.
	ClientOptions []kgo.Opt
	// Group is the consumer group; empty: DefaultGroup.
	Group string
	// Unread and Channels name the topics; empty: those of package events.
	Unread, Channels string

	// Redis is the primary, reached directly or through Sentinel. Redis Cluster does not work: the
	// keys of one transaction would be in different slots. Its maxmemory-policy must be noeviction,
	// because an inbox that has lost fields to eviction cannot be told from a small one. With
	// ContextTimeoutEnabled in its options Run ends at once even while Redis hangs.
	Redis *redis.Client
	// RemovalTTL is how long the stamp of a removal is kept, in whole seconds. An older delta that
	// arrives after that is applied. 24 h by default.
	RemovalTTL time.Duration
	// Pipelines is how many pipelines are in progress at once; 3 by default.
	Pipelines int
	// BatchRecords is how many records are joined and written at once, at most; 50,000 by default.
	// Together with FetchBytes it limits the memory.
	BatchRecords int
	// KnownPairs is for how many (user, channel) pairs and channels the cache remembers the value
	// in Redis, which saves a query before each write; 2,000,000 by default, of 85 bytes each.
	KnownPairs int
	// FetchBytes limits the records that are fetched ahead from one broker; 16 MiB by default.
	FetchBytes int32
	// CheckEvery is how long, at most, a wiped Redis goes unnoticed while there is nothing to
	// write; 1 s by default.
	CheckEvery time.Duration
	// CommitEvery is the minimum time between two commits of group offsets, and between two queries
	// for the ends of the logs; 1 s by default. Both serve lag monitors. The group offsets also
	// show a new owner which records were published before.
	CommitEvery time.Duration
	// SessionTimeout is how long a member may be silent before the group gives its partitions to
	// others. Redis gets no updates for that long after a kill of the only member. 10 s by default;
	// brokers by default allow 6 s to 30 min.
	SessionTimeout time.Duration
	// ThreadsAlways makes readers list followed threads at any age, through
	// tidemark:thread-listing, and keeps their read pointers forever (DESIGN §4.7).
	ThreadsAlways bool
	// Values is the form of the values in inboxes and of channel records: json, or packed, which
	// takes a fifth of the memory. Keys are the families of keys that are written: inbox, which the
	// cache itself needs, pointers, channels and threads. By default json, and all of them. All
	// members need the same: members with different ones take Redis from each other, and it is
	// never complete.
	Values string
	Keys   []string
	// RetryMin and RetryMax are the first and the longest pause after a failure; 50 ms and 2 s by
	// default.
	RetryMin, RetryMax time.Duration

	// Trace begins a span for the records that carry a sampled traceparent; nil: none.
	Trace trace.Tracer
	// Registerer registers the metrics; nil: they are not registered.
	Registerer prometheus.Registerer
	// Logger gets the log; nil: nothing is logged.
	Logger *slog.Logger

	// planted is called at named places; tests panic in it. nil turns it off.
	planted func(where string)
	format  format.Format // of Values and Keys
}

// CheckFormat returns an error for values and keys that Config does not accept.
func CheckFormat(values string, keys []string) error {
	if _, err := format.Of(values, keys); err != nil {
		return fmt.Errorf("--redis-values and --redis-keys: %w", err)
	}
	return nil
}

// plant lets a test panic at a place.
func (c *Config) plant(where string) {
	if c.planted != nil {
		c.planted(where)
	}
}

// withDefaults checks c and fills in defaults.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Brokers) == 0:
		return c, errors.New("cache: no brokers are configured")
	case c.Redis == nil:
		return c, errors.New("cache: no Redis is configured")
	}
	c.Group = cmp.Or(c.Group, DefaultGroup)
	c.Unread = cmp.Or(c.Unread, events.TopicUnread)
	c.Channels = cmp.Or(c.Channels, events.TopicChannels)
	c.RemovalTTL = cmp.Or(c.RemovalTTL, 24*time.Hour)
	c.Pipelines = cmp.Or(c.Pipelines, 3)
	c.BatchRecords = cmp.Or(c.BatchRecords, 50_000)
	c.FetchBytes = cmp.Or(c.FetchBytes, 16<<20)
	c.KnownPairs = cmp.Or(c.KnownPairs, 2_000_000)
	c.CheckEvery = cmp.Or(c.CheckEvery, time.Second)
	c.CommitEvery = cmp.Or(c.CommitEvery, time.Second)
	c.SessionTimeout = cmp.Or(c.SessionTimeout, 10*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, 50*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, 2*time.Second)
	var err error
	if c.format, err = format.Of(c.Values, c.Keys); err != nil {
		return c, fmt.Errorf("cache: %w", err)
	}
	if c.Unread == c.Channels {
		return c, fmt.Errorf("cache: topic %q is configured for both unread and channels", c.Unread)
	}
	for _, v := range []struct {
		name string
		bad  bool
	}{
		{"RemovalTTL is below 1 s", c.RemovalTTL < time.Second}, {"Pipelines is negative", c.Pipelines < 1},
		{"BatchRecords is negative", c.BatchRecords < 1}, {"FetchBytes is negative", c.FetchBytes < 1},
		{"KnownPairs is negative", c.KnownPairs < 1},
		{"CheckEvery is negative", c.CheckEvery < 0}, {"CommitEvery is negative", c.CommitEvery < 0},
		{"SessionTimeout is negative", c.SessionTimeout < 0},
		{"RetryMin is negative", c.RetryMin < 0}, {"RetryMax is below RetryMin", c.RetryMax < c.RetryMin},
	} {
		if v.bad {
			return c, fmt.Errorf("cache: %s", v.name)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
