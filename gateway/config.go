package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway/internal/bounds"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/trace"
)

// Topics are the names of the topics that a gateway reads and writes. An empty name means the one
// of package events.
type Topics struct {
	Messages, Reads, Deliveries string
	Unread, Channels, Receipts  string
}

// Limits limit the costs of one client. Zero values become the defaults.
type Limits = bounds.Limits

// Config configures a gateway. Brokers, Partitions, Query and Producer must be set.
type Config struct {
	Brokers       []string
	ClientOptions []kgo.Opt // TLS, SASL, a dialer
	Topics        Topics
	// Partitions is the partition count of the input topics.
	Partitions int32

	// Query answers the gateway's queries.
	Query Queries
	// Producer writes events. It must use acks=all and the murmur2 partitioner.
	Producer *kgo.Client
	// Redis stores the presence of users. Nil: no presence.
	Redis redis.UniversalClient

	// Verifier verifies tokens. Nil: there are no keys, and ?user_id= names the user.
	Verifier *auth.Verifier
	// Audit is the log of refusals. Nil: there is none.
	Audit *audit.Log
	// OwnAccount returns why the gateway cannot call other nodes on its own account at the moment,
	// for example because its service token has expired. Then the gateway is not ready, and reports
	// no message as queued until it can again. If there are keys and OwnAccount is nil, it never
	// can.
	OwnAccount func() error
	// Origins are the allowed origins of browser pages, exactly as browsers send them
	// ("https://chat.example.com"). Empty: only pages of this host.
	Origins []string
	// LoopbackOrigins also allows pages of this machine, on any port, such as http://localhost:5173
	// during development.
	LoopbackOrigins bool

	Limits Limits
	// PresenceTTL is how long ws:<user> outlives a gateway that died; 30 s.
	PresenceTTL time.Duration
	// Group is the consumer group of all gateways; "tidemark-gateway". It decides which gateway
	// reports the queued messages of which partitions. GroupSession is how long a gateway may be
	// silent before it loses its partitions; 10 s.
	Group        string
	GroupSession time.Duration
	// QueueWithin is how old a message's record may be for it to be reported as queued (DESIGN
	// §10); 5 minutes. Older messages are history, not messages that a user missed while offline.
	QueueWithin time.Duration
	// ReceiptsEvery is the least time between two receipt frames of one kind for one channel; 2 s.
	ReceiptsEvery time.Duration
	// DrainFor is the time over which a stopping gateway spreads the closing of connections; 5 s,
	// less if they are few.
	DrainFor time.Duration
	// ReceiptLimit is the size of the largest channel whose messages are reported as delivered; 50.
	ReceiptLimit uint32
	// ThreadsAlways lists followed threads at any age (DESIGN §4.7).
	ThreadsAlways bool
	// PreviewsOff leaves message text out of all frames.
	PreviewsOff bool

	// Trace begins spans, for records that carry a trace and for events of devices. Nil: none.
	Trace trace.Tracer

	Registerer prometheus.Registerer // nil: none
	Logger     *slog.Logger          // nil: nowhere

	// Now is the clock. Nil: time.Now.
	Now func() time.Time

	// planted is called at named places; tests panic in it. nil turns it off.
	planted func(where string)
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case len(c.Brokers) == 0:
		return c, errors.New("gateway: no brokers are configured")
	case c.Partitions < 1:
		return c, fmt.Errorf("gateway: %d partitions", c.Partitions)
	case c.Query == nil:
		return c, errors.New("gateway: no query service is configured")
	case c.Producer == nil:
		return c, errors.New("gateway: no producer is configured")
	}
	c.Topics.Messages = cmp.Or(c.Topics.Messages, events.TopicMessages)
	c.Topics.Reads = cmp.Or(c.Topics.Reads, events.TopicReads)
	c.Topics.Deliveries = cmp.Or(c.Topics.Deliveries, events.TopicDeliveries)
	c.Topics.Unread = cmp.Or(c.Topics.Unread, events.TopicUnread)
	c.Topics.Channels = cmp.Or(c.Topics.Channels, events.TopicChannels)
	c.Topics.Receipts = cmp.Or(c.Topics.Receipts, events.TopicReceipts)
	c.PresenceTTL = cmp.Or(c.PresenceTTL, 30*time.Second)
	c.Group = cmp.Or(c.Group, "tidemark-gateway")
	c.GroupSession = cmp.Or(c.GroupSession, 10*time.Second)
	c.QueueWithin = cmp.Or(c.QueueWithin, 5*time.Minute)
	c.ReceiptsEvery = cmp.Or(c.ReceiptsEvery, 2*time.Second)
	c.DrainFor = cmp.Or(c.DrainFor, 5*time.Second)
	c.ReceiptLimit = cmp.Or(c.ReceiptLimit, 50)
	c.Limits = c.Limits.WithDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}
