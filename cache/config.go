package cache

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// DefaultGroup is the consumer group of the cache role.
const DefaultGroup = "tidemark-cache"

// Config says what a Cache is. Brokers and Redis must be set, for all else zero is a good value.
type Config struct {
	// Brokers are the addresses to begin with.
	Brokers []string
	// ClientOptions are added to the Kafka clients': TLS, SASL, a dialer. Those that say how to consume are the cache's
	// own and must not be among them, but for time limits.
	ClientOptions []kgo.Opt
	// Group is the consumer group; empty: DefaultGroup.
	Group string
	// Unread and Channels name the topics; empty: those of package events.
	Unread, Channels string

	// Redis is the primary, reached directly or through Sentinel. It is not Redis Cluster: what one transaction writes
	// would lie in different slots. Its maxmemory-policy must be
	// noeviction: an inbox of which Redis dropped a part at will looks like one that was never larger. With
	// ContextTimeoutEnabled in its options Run ends at once even while Redis hangs.
	Redis *redis.Client
	// RemovalTTL is how long the stamp of a removal is kept, in seconds resolution: a delta from before it that arrives
	// later than that is applied. 24 h by default.
	RemovalTTL time.Duration
	// Pipelines are how many are under way at once; 3 by default.
	Pipelines int
	// BatchRecords is how many records are joined and written at once, at most; 50,000 by default. It bounds memory
	// together with FetchBytes.
	BatchRecords int
	// KnownPairs is of how many (user, channel) and channels it is remembered what Redis holds, which saves asking before
	// a write; 2,000,000 by default, 110 bytes each.
	KnownPairs int
	// FetchBytes bounds what is fetched ahead from one broker; 16 MiB by default.
	FetchBytes int32
	// CheckEvery is how long, at most, a wiped Redis goes unnoticed while there is nothing to write; 1 s by default.
	CheckEvery time.Duration
	// CommitEvery is the least time between two commits of group offsets, which serve lag monitors and say what was
	// published before; 1 s by default.
	CommitEvery time.Duration
	// RetryMin and RetryMax are the first and the longest pause after a failure; 50 ms and 2 s by default.
	RetryMin, RetryMax time.Duration

	// Registerer gets the metrics; nil: nobody.
	Registerer prometheus.Registerer
	// Logger gets what happens; nil: nowhere.
	Logger *slog.Logger
}

// withDefaults checks c and fills in what is not set.
func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Brokers) == 0:
		return c, errors.New("cache: no brokers are configured")
	case c.Redis == nil:
		return c, errors.New("cache: no Redis is configured")
	}
	def(&c.Group, DefaultGroup)
	def(&c.Unread, events.TopicUnread)
	def(&c.Channels, events.TopicChannels)
	def(&c.RemovalTTL, 24*time.Hour)
	def(&c.Pipelines, 3)
	def(&c.BatchRecords, 50_000)
	def(&c.FetchBytes, 16<<20)
	def(&c.KnownPairs, 2_000_000)
	def(&c.CheckEvery, time.Second)
	def(&c.CommitEvery, time.Second)
	def(&c.RetryMin, 50*time.Millisecond)
	def(&c.RetryMax, 2*time.Second)
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

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
