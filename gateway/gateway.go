package gateway

import (
	"context"
	crand "crypto/rand"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/gateway/internal/admission"
	"github.com/tidemark/tidemark/gateway/internal/presence"
	"github.com/tidemark/tidemark/gateway/internal/view"
	"github.com/tidemark/tidemark/gateway/internal/wire"
	"github.com/tidemark/tidemark/internal/alarm"
	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/limit"
)

// Gateway serves sockets. New creates it, Run runs it, and ServeHTTP is /v1/socket.
type Gateway struct {
	cfg       Config
	id        string // id of this process; the value of its keys ws:<user>
	hubs      *hubs
	door      *admission.Door
	wire      *wire.Settings
	query     Queries
	metrics   *metrics
	snapshots chan struct{}
	presence  *presence.Presence // nil without Redis
	reporter  *presence.Reporter // nil without presence, or without the right to list members
	delivered deliveries
	began     time.Time

	// seen is, per partition of chat.messages, the offset after the record that the feed is passing
	// on.
	seen []atomic.Int64
	// reached is, per partition, the same offset according to channel records that came during
	// loads. It may be ahead of seen.
	reached []view.Highest
	loads   atomic.Int64 // inboxes that are being read or installed
	// logTimes are lower bounds of the log times of chat.messages; see listed.go.
	logTimes []view.Highest

	asks   chan ask
	alarms *alarm.Set[*user]

	arrivals  *limit.Rates // handshakes, by user
	commands  *limit.Rates // frames, by user
	crowds    *limit.Rates // frames, by address
	count     atomic.Int64
	instances atomic.Uint64
	draining  atomic.Bool
	feedState atomic.Pointer[error] // why the feed does not run; points to nil while it runs
	open      sync.WaitGroup        // connections
}

// New creates a gateway. It does not connect; Run does.
func New(c Config) (*Gateway, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := c.Limits
	g := &Gateway{
		cfg: c, id: crand.Text(), seen: make([]atomic.Int64, c.Partitions), reached: make([]view.Highest, c.Partitions), began: c.Now(),
		query:     c.Query,
		logTimes:  make([]view.Highest, c.Partitions),
		snapshots: make(chan struct{}, l.Snapshots),
		asks:      make(chan ask, maxAsks),
		door: admission.New(admission.Config{
			Verifier: c.Verifier, Origins: c.Origins, LoopbackOrigins: c.LoopbackOrigins, Audit: c.Audit, Logger: c.Logger,
			Addresses: limit.NewRates(l.HandshakesPerSecond, l.HandshakesBurst, c.Now),
		}),
		arrivals: limit.NewRates(l.HandshakesPerSecond, l.HandshakesBurst, c.Now),
		commands: limit.NewRates(l.FramesPerSecond, l.FramesBurst, c.Now),
		crowds:   limit.NewRates(l.AddressFramesPerSecond, l.AddressFramesBurst, c.Now),
	}
	g.alarms = alarm.New(c.Now, g.ring)
	g.hubs = newHubs(shards, g.alarms)
	g.metrics, g.delivered.g = newMetrics(c.Registerer, g), g
	g.wire = g.wireSettings()
	g.setFeed(errNoFeed)
	if c.Redis != nil {
		g.presence = presence.New(presence.Config{
			Gateway: g.id, Sockets: g.hubs, Redis: c.Redis, TTL: c.PresenceTTL, Now: c.Now, Logger: c.Logger,
		})
		if c.Verifier == nil || c.OwnAccount != nil {
			g.reporter = g.newReporter()
		} else {
			c.Logger.Warn("messages are not reported as queued: this needs the members of channels, which other nodes return only to a node with --peer-secret-file, --peer-cert or --service-token-file")
		}
	}
	return g, nil
}

// newReporter creates the reporter of messages that are queued for members without a socket.
func (g *Gateway) newReporter() *presence.Reporter {
	c := &g.cfg
	return presence.NewReporter(presence.ReporterConfig{
		Brokers: c.Brokers, ClientOptions: c.ClientOptions, Messages: c.Topics.Messages, Deliveries: c.Topics.Deliveries, Partitions: c.Partitions,
		Group: c.Group, GroupSession: c.GroupSession, Producer: c.Producer, Presence: g.presence, Members: g.listMembers, MayAsk: g.mayAsk,
		Limit: c.ReceiptLimit, Within: c.QueueWithin, Began: g.began, Now: c.Now, Logger: c.Logger,
		Queued: g.metrics.queued, Late: g.metrics.queuedLate, Unknown: g.metrics.queuedUnknown, Failed: g.metrics.queuedFailed, Planted: c.planted,
	})
}

// wireSettings returns the settings of all connections.
func (g *Gateway) wireSettings() *wire.Settings {
	l, m := &g.cfg.Limits, g.metrics
	return &wire.Settings{
		Writers: wire.NewWriters(), FrameBytes: l.FrameBytes, QueueBytes: l.QueueBytes, WriteTimeout: l.WriteTimeout,
		FrameTimeout: l.FrameTimeout, PongTimeout: l.PongTimeout, Logger: g.cfg.Logger,
		Bytes: m.bytes, Frames: m.frames, Slow: m.slow, Closed: m.closed, Taken: g.delivered.taken, Planted: g.cfg.planted,
	}
}

// Run serves until ctx is done, then closes all connections, spread over DrainFor, and returns nil.
func (g *Gateway) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	begunAgain := g.panicked("a part of the gateway panicked and is begun again")
	loop := func(what string, f func()) { wg.Go(func() { guard.Loop(work, what, begunAgain, f) }) }
	loop("the feed", func() { _ = g.feed(work) })
	for range askers {
		loop("the asking", func() { g.answerAsks(work) })
	}
	loop("the alarms", func() { g.alarms.Run(work) })
	loop("the pings", func() { wire.PingAll(work, g.cfg.Limits.PingEvery, g.hubs.all) })
	if g.presence != nil {
		loop("presence", func() { g.presence.Run(work) })
	}
	if g.reporter != nil {
		loop("the reporting of what is queued", func() { g.reporter.Run(work) })
	}
	<-ctx.Done()
	g.drain()
	g.delivered.end()
	stop()
	wg.Wait()
	return nil
}

// drain closes all connections with CloseElsewhere, at random times, so that the gateways that take
// them over do not get all at once. New connections are refused meanwhile.
func (g *Gateway) drain() {
	g.draining.Store(true)
	list := g.hubs.all()
	over := min(g.cfg.DrainFor, time.Duration(len(list))*time.Millisecond)
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Add(1)
		guard.AfterFunc(rand.N(max(over, 1)), "sending a connection elsewhere", c.Panicked, func() {
			defer wg.Done()
			c.Shut(CloseElsewhere, sentElsewhere)
		})
	}
	wg.Wait()
	for _, c := range g.hubs.all() {
		c.Shut(CloseElsewhere, sentElsewhere) // it connected meanwhile
	}
	done := make(chan struct{})
	guard.Go("waiting for connections", g.panicked("connections are not waited for"), func() { g.open.Wait(); close(done) })
	select {
	case <-done:
	case <-time.After(closeTimeout):
		for _, c := range g.hubs.all() {
			wg.Add(1)
			// Flushing the connection and the closing alert of TLS may each take a while.
			guard.Go("the closing of a connection", c.Panicked, func() {
				defer wg.Done()
				c.End() // the client has not answered the close
			})
		}
		wg.Wait()
	}
}

// sentElsewhere is the reason of CloseElsewhere.
const sentElsewhere = "reconnect elsewhere"

// closeTimeout is how long clients have to answer a close.
const closeTimeout = 3 * time.Second
