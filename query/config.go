package query

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/auth"
	"github.com/tidemark/tidemark/internal/peer"
	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/query/internal/peers"
)

// Config configures Handler. Node must be set.
type Config struct {
	Node Node
	// Topics are the names of the input topics, by input. Zero: events.InputTopics.
	Topics [events.NumInputs]string
	// Self is the URL at which other nodes reach this one. A call is never forwarded to it.
	Self string

	// Verifier verifies the tokens of callers. Nil: there are no keys, and anyone who reaches the
	// port may do everything (CheckListen).
	Verifier *auth.Verifier

	// Peers proves to other nodes that this is one of them. RelayKey and Self are filled in.
	Peers peer.Proof

	// Audit is the log of erasures, of events written with tokens of scope publish, and of
	// refusals. Nil: none.
	Audit *audit.Log

	// Producer writes the events of Publish, with acks=all and the default (murmur2) partitioner.
	// Nil: the ingest service is not served.
	Producer *kgo.Client

	// MaxWatches limits the WatchUnread streams of clients at this node. 0 = 10,000. Each costs a
	// goroutine or two and about 100 bytes for every channel with unread messages.
	MaxWatches int
	// MaxWatchesPerUser limits the streams of one user. 0 = 100.
	MaxWatchesPerUser int
	// HeartbeatEvery is how long a WatchUnread stream may be silent before it sends an empty
	// message that has only as_of. 0 = 25 s.
	HeartbeatEvery time.Duration

	// Limits limit the costs of callers. The zero value limits only memory and waiting calls.
	Limits Limits

	// Stopping, once done, ends all streams with unavailable, so that their clients go to another
	// node and do not delay a graceful stop. Calls continue. Nil: never.
	Stopping context.Context

	// Registerer registers the metrics. Nil: they are not registered.
	Registerer prometheus.Registerer
	// Logger logs errors that callers do not see: panics and failed writes. Nil: slog.Default().
	Logger *slog.Logger
	// Trace gives published events the trace of their call; nil: they get none. Spans is around
	// each call, and each call to another node; nil: nothing is. The header traceparent of users is
	// ignored: only services and nodes may begin a trace.
	Trace trace.Tracer
	Spans connect.Interceptor
	// Inside, if set, is around each call once it is decoded and allowed.
	Inside connect.Interceptor
	// Now is the clock for the age of page tokens. Nil: time.Now.
	Now func() time.Time
	// Transport carries calls to other nodes. Nil: unencrypted HTTP/2 for http URLs, HTTP/2 over
	// TLS for https.
	Transport http.RoundTripper

	// sendTimeout is how long a client may leave one message of a stream unread. 0 = 30 s. Tests
	// set it.
	sendTimeout time.Duration
	// bodyTimeout is how long the body of a request may take to arrive. 0 = 30 s. Tests set it.
	bodyTimeout time.Duration
	// answerTimeout is how long an answer that is not a stream may take. 0 = 1 min. Tests set it.
	answerTimeout time.Duration
	// planted is called under the read lock of a partition during a reading; tests panic in it.
	planted func(partition int32)
}

func (c Config) withDefaults() Config {
	if c.Node == nil {
		panic("query: Config.Node is nil")
	}
	if c.Topics == [events.NumInputs]string{} {
		c.Topics = events.InputTopics
	}
	if c.MaxWatches == 0 {
		c.MaxWatches = 10_000
	}
	if c.MaxWatchesPerUser == 0 {
		c.MaxWatchesPerUser = 100
	}
	c.Limits = c.Limits.WithDefaults()
	if c.HeartbeatEvery == 0 {
		c.HeartbeatEvery = 25 * time.Second
	}
	if c.Stopping == nil {
		c.Stopping = context.Background()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.sendTimeout == 0 {
		c.sendTimeout = 30 * time.Second
	}
	if c.bodyTimeout == 0 {
		c.bodyTimeout = bodyTimeout
	}
	if c.answerTimeout == 0 {
		c.answerTimeout = answerTimeout
	}
	c.Peers.RelayKey, c.Peers.Self = c.Node.RelayKey, c.Self
	if c.Transport == nil {
		c.Transport = PeerTransport(nil)
	}
	return c
}

// PeerTransport multiplexes all calls and watches to a node over few connections. c is for nodes
// that are reached by TLS; nil trusts the system's authorities.
func PeerTransport(c *tls.Config) *http.Transport { return peers.Transport(c) }
