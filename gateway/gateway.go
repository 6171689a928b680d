package gateway

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// Gateway serves sockets. New makes it, Run runs it, ServeHTTP is its /v1/socket.
type Gateway struct {
	cfg       Config
	id        string // of this process, in ws:<user>
	hub       *hub
	writers   *writers
	query     queryv1connect.QueryServiceClient
	metrics   *metrics
	snapshots chan struct{}
	presence  *presence // nil without Redis
	queuer    *queuer   // nil without presence, or without the right to list members
	delivered deliveries
	began     time.Time

	// seen is, per partition, the next offset of chat.messages after what the feed has passed on, and begun where its
	// session began. Guarded by the hub's lock.
	seen, begun map[int32]int64

	asks      chan ask
	addresses *limiters // handshakes, by address
	arrivals  *limiters // handshakes, by user
	commands  *limiters // frames, by user
	crowds    *limiters // frames, by address
	count     atomic.Int64
	instances atomic.Uint64
	draining  atomic.Bool
	feedState atomic.Pointer[error] // nil: no session yet; else why there is none now
	open      sync.WaitGroup        // connections
}

var errNoFeed = errors.New("the feed has not begun")

// New makes a gateway. It connects to nothing yet.
func New(c Config) (*Gateway, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l := c.Limits
	g := &Gateway{
		cfg: c, id: randomID(), hub: newHub(), writers: newWriters(), seen: map[int32]int64{}, began: c.Now(),
		query:     queryv1connect.NewQueryServiceClient(&http.Client{Transport: inProcess{c.Query}}, "http://this.node"),
		snapshots: make(chan struct{}, l.Snapshots),
		asks:      make(chan ask, maxAsks),
		addresses: newLimiters(l.HandshakesPerSecond, l.HandshakesBurst, c.Now),
		arrivals:  newLimiters(l.HandshakesPerSecond, l.HandshakesBurst, c.Now),
		commands:  newLimiters(l.FramesPerSecond, l.FramesBurst, c.Now),
		crowds:    newLimiters(l.AddressFramesPerSecond, l.AddressFramesBurst, c.Now),
	}
	g.metrics, g.delivered.g = newMetrics(c.Registerer, g), g
	g.setFeed(errNoFeed)
	if c.Redis != nil {
		g.presence = newPresence(g)
		g.queuer = &queuer{g: g, rosters: newRosters(g.listMembers, c.ReceiptLimit)}
	}
	if c.Verifier != nil && c.ServiceToken == "" && g.queuer != nil {
		c.Logger.Warn("messages are not reported as queued: without a service token the members of channels cannot be asked for")
		g.queuer = nil
	}
	return g, nil
}

// setFeed notes why the feed does not run; nil: it does.
func (g *Gateway) setFeed(err error) { g.feedState.Store(&err) }

// Ready reports whether sockets are served, with a line that says why not.
func (g *Gateway) Ready() (bool, []string) {
	if g.draining.Load() {
		return false, []string{"gateway: draining"}
	}
	if err := *g.feedState.Load(); err != nil {
		return false, []string{"gateway: " + err.Error()}
	}
	return true, nil
}

// Run serves until ctx is done, then sends everybody away, spread over DrainFor, and returns nil.
func (g *Gateway) Run(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { _ = g.feed(work) })
	for range askers {
		wg.Go(func() { g.answerAsks(work) })
	}
	wg.Go(func() { g.pingAll(work) })
	if g.presence != nil {
		wg.Go(func() { g.presence.run(work) })
	}
	if g.queuer != nil {
		wg.Go(func() { g.queuer.run(work) })
	}
	<-ctx.Done()
	g.drain()
	g.delivered.end()
	stop()
	wg.Wait()
	return nil
}

// drain sends all connections away. The moments are spread, so that those who take them over are not met by everybody at
// once; new ones are refused meanwhile.
func (g *Gateway) drain() {
	g.draining.Store(true)
	list := g.hub.all()
	over := min(g.cfg.DrainFor, time.Duration(len(list))*time.Millisecond)
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Go(func() {
			if over > 0 {
				time.Sleep(rand.N(over))
			}
			c.shut(CloseElsewhere, sentElsewhere)
		})
	}
	wg.Wait()
	for _, c := range g.hub.all() {
		c.shut(CloseElsewhere, sentElsewhere) // came between
	}
	done := make(chan struct{})
	go func() { g.open.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(closeTimeout):
		for _, c := range g.hub.all() {
			wg.Go(func() { // what is gathered for one, and TLS's own last word, may take a while each
				c.cancel()
				_ = c.ws.CloseNow() // it does not answer
			})
		}
		wg.Wait()
	}
}

// sentElsewhere is the reason of CloseElsewhere.
const sentElsewhere = "reconnect elsewhere"

// closeTimeout is how long clients have to answer a close.
const closeTimeout = 6 * time.Second

// authorize adds what the query service asks for: the gateway's own token, or that of the user for whom it asks.
func (g *Gateway) authorize(h http.Header, userToken string) {
	switch {
	case g.cfg.ServiceToken != "":
		h.Set("Authorization", "Bearer "+g.cfg.ServiceToken)
	case userToken != "":
		h.Set("Authorization", "Bearer "+userToken)
	}
}

// ask is a question to the owner about one channel of a user, whose counts cannot be derived here.
type ask struct {
	user    *user
	channel string
}

const (
	maxAsks = 65_536 // waiting; beyond, a channel's counts stay as they are until its next change
	askers  = 4
	// askPause is how long an owner that did not answer is left alone.
	askPause = 500 * time.Millisecond
)

// ask has the owner asked about a channel, once at a time. Called with the lock.
func (g *Gateway) ask(e *entry) {
	if e.asking || e.ch == nil {
		return
	}
	u := e.user
	select {
	case g.asks <- ask{u, e.view.channel}:
		e.asking = true
	default:
		g.metrics.asksDropped.Inc()
	}
}

func (g *Gateway) answerAsks(ctx context.Context) {
	for {
		select {
		case a := <-g.asks:
			g.answerAsk(ctx, a)
			g.hub.kick()
		case <-ctx.Done():
			return
		}
	}
}

// askAgain asks once more after a while: until then the counts are those of before, and nobody else may change them.
func (g *Gateway) askAgain(ctx context.Context, e *entry) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return // the gateway stops
	}
	time.AfterFunc(askPause, func() {
		g.hub.mu.Lock()
		defer g.hub.mu.Unlock()
		if g.hub.users[e.user.id] == e.user {
			g.ask(e)
		}
	})
}

func (g *Gateway) answerAsk(ctx context.Context, a ask) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	g.hub.mu.Lock()
	token := ""
	if len(a.user.conns) > 0 {
		token = a.user.conns[0].token
	}
	e := a.user.entries[a.channel]
	gone := len(a.user.conns) == 0 || e == nil
	var after []string // the record that the answer is to be as new as: an owner that has just taken over may be behind it
	if e != nil && e.ch != nil {
		after = g.passed(nil, events.PartitionOf([]byte(a.channel), g.cfg.Partitions), e.ch.told())
	}
	if e != nil {
		e.asking = false // what changes from here on may ask again
	}
	g.hub.mu.Unlock()
	if gone {
		return
	}
	g.metrics.asked.Inc()
	req := connect.NewRequest(&queryv1.GetUnreadRequest{UserId: a.user.id, ChannelId: a.channel, After: after})
	g.authorize(req.Header(), token)
	res, err := g.query.GetUnread(ctx, req)
	if err != nil {
		g.cfg.Logger.Debug("an owner could not be asked", "err", err)
		g.askAgain(ctx, e)
		return
	}
	at := position{}
	at.add(&g.cfg.Topics, res.Msg.AsOf)
	stamp := g.stampAt(at, a.channel)
	g.hub.mu.Lock()
	defer g.hub.mu.Unlock()
	if e.ch == nil || stamp.M < e.floorM || !covers(&stamp, &e.stamp) {
		return
	}
	v := viewOfAnswer(res.Msg)
	if v == e.view {
		return
	}
	a.user.count(e, -1)
	g.says(a.user, e, v.channel, v.member, stamp.M)
	e.view = v
	a.user.count(e, +1)
	g.frameUpdate(a.user, e, "")
}
