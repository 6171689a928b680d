package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/auth"
)

// Topics are the names of the topics that a gateway reads and writes. An empty one is that of package events.
type Topics struct {
	Messages, Reads, Deliveries string
	Unread, Channels, Receipts  string
}

// Limits bound what one client can cost (RELIABILITY §5). Zero values become the defaults named here.
type Limits struct {
	FrameBytes      int           // of a client's frame; 64 KiB
	Focused         int           // channels and threads that a connection has focused; 128
	MessageIDs      int           // in one messages_read; 1,000
	QueueBytes      int           // that wait for one connection to take them; 1 MiB. Beyond, it is closed with CloseSlow
	InboxBytes      int           // of an inbox frame; 768 KiB. What does not fit is left out, and `truncated` says so
	WriteTimeout    time.Duration // for 64 KiB to be taken; 1 s
	PingEvery       time.Duration // between two pings; 25 s. A peer that does not answer within PongTimeout is gone
	PongTimeout     time.Duration // 10 s
	AuthTimeout     time.Duration // until the first frame, where that is to bring the token; 5 s
	FrameTimeout    time.Duration // from a frame's first byte to its last; 10 s
	FramesPerSecond float64       // of one user, over all connections; 50, with bursts of FramesBurst
	FramesBurst     int           // 200
	// AddressFramesPerSecond and AddressFramesBurst bound the frames of one address, over all users; 2,000 and 8,000. A load
	// balancer hides addresses: raise them there.
	AddressFramesPerSecond float64
	AddressFramesBurst     int
	// HandshakesPerSecond and HandshakesBurst bound new connections of one address, and of one user; 20 and 100. A load
	// balancer hides addresses: raise them there.
	HandshakesPerSecond float64
	HandshakesBurst     int
	Connections         int // of the gateway; 20,000
	PerUser             int // of one user; 32
	// Snapshots is how many inboxes are read at once; 32. The others wait: that is what keeps a reconnect storm short of
	// memory.
	Snapshots int
}

func (l Limits) withDefaults() Limits {
	def(&l.FrameBytes, 64<<10)
	def(&l.Focused, 128)
	def(&l.MessageIDs, 1000)
	def(&l.QueueBytes, 1<<20)
	def(&l.InboxBytes, 768<<10)
	def(&l.WriteTimeout, time.Second)
	def(&l.PingEvery, 25*time.Second)
	def(&l.PongTimeout, 10*time.Second)
	def(&l.AuthTimeout, 5*time.Second)
	def(&l.FrameTimeout, 10*time.Second)
	def(&l.FramesPerSecond, 50)
	def(&l.FramesBurst, 200)
	def(&l.AddressFramesPerSecond, 2000)
	def(&l.AddressFramesBurst, 8000)
	def(&l.HandshakesPerSecond, 20)
	def(&l.HandshakesBurst, 100)
	def(&l.Connections, 20_000)
	def(&l.PerUser, 32)
	def(&l.Snapshots, 32)
	return l
}

// Config says what a gateway is. Brokers, Partitions, Query and Producer must be set.
type Config struct {
	Brokers       []string
	ClientOptions []kgo.Opt // TLS, SASL, a dialer
	Topics        Topics
	// Partitions is the partition count of the input topics.
	Partitions int32

	// Query serves QueryService. It is called in this process, and forwards to the owners.
	Query http.Handler
	// Producer writes events, with acks=all and the murmur2 partitioner.
	Producer *kgo.Client
	// Redis has the presence of users. Nil: it is not kept.
	Redis redis.UniversalClient

	// Verifier judges tokens. Nil: there are no keys, and ?user_id= names the user.
	Verifier *auth.Verifier
	// ServiceToken, if set, is sent with the gateway's own calls of Query (scope service).
	ServiceToken string
	// Origins are those that a browser's page may have, exactly as browsers send them ("https://chat.example.com").
	// Empty: only a page of this very host.
	Origins []string

	Limits Limits
	// PresenceTTL is how long ws:<user> outlives a gateway that died; 30 s.
	PresenceTTL time.Duration
	// Group is the consumer group of all gateways, in which they share out whose messages are reported as queued by whom;
	// "tidemark-gateway". GroupSession is after how long one that does not answer loses its share; 10 s.
	Group        string
	GroupSession time.Duration
	// ReceiptsEvery is the least time between two receipt frames of one kind for one channel; 2 s.
	ReceiptsEvery time.Duration
	// DrainFor is over how long connections are sent away when the gateway stops; 5 s, less if they are few.
	DrainFor time.Duration
	// ReceiptLimit is the number of members up to which it is reported that a message was delivered; 50.
	ReceiptLimit uint32
	// PreviewsOff leaves message text out of all frames.
	PreviewsOff bool

	Registerer prometheus.Registerer // nil: none
	Logger     *slog.Logger          // nil: nowhere

	// Now is the clock. Nil: time.Now.
	Now func() time.Time
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
	def(&c.Topics.Messages, events.TopicMessages)
	def(&c.Topics.Reads, events.TopicReads)
	def(&c.Topics.Deliveries, events.TopicDeliveries)
	def(&c.Topics.Unread, events.TopicUnread)
	def(&c.Topics.Channels, events.TopicChannels)
	def(&c.Topics.Receipts, events.TopicReceipts)
	def(&c.PresenceTTL, 30*time.Second)
	def(&c.Group, "tidemark-gateway")
	def(&c.GroupSession, 10*time.Second)
	def(&c.ReceiptsEvery, 2*time.Second)
	def(&c.DrainFor, 5*time.Second)
	def(&c.ReceiptLimit, 50)
	c.Limits = c.Limits.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
