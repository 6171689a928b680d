package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/query"
)

// sockets is a node with a gateway, all in this process, and clients in another.
type sockets struct {
	*server
	addr     string         // host:port of the sockets
	cfg      gateway.Config // of the gateway there
	registry *prometheus.Registry
	rdb      *redis.Client // of the gateway; nil: no presence
	http     *http.Server
	cancel   context.CancelFunc
	ended    chan struct{}
	clients  *hive
}

// embedded is env with an embedded broker and an embedded Redis in this process, if it has no brokers.
func (e Env) embedded() (_ Env, stop func(), err error) {
	if len(e.Brokers) > 0 {
		return e, func() {}, nil
	}
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return e, nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	mini := miniredis.NewMiniRedis() // whose keys do not run out: that would sort all of them again and again
	if err := mini.Start(); err != nil {
		kafka.Close()
		return e, nil, fmt.Errorf("embedded Redis: %w", err)
	}
	e.inProcess = true
	e.Brokers, e.Redis = kafka.ListenAddrs(), "redis://"+mini.Addr()
	return e, func() { mini.Close(); kafka.Close() }, nil
}

// sockets starts a gateway in front of a node, and the process of its clients.
func (sv *server) sockets(ctx context.Context) (_ *sockets, err error) {
	s := sv.s
	g := &sockets{server: sv, registry: prometheus.NewRegistry(), ended: make(chan struct{})}
	if s.env.Redis != "" {
		o, err := redis.ParseURL(s.env.Redis)
		if err != nil {
			return nil, err
		}
		g.rdb = redis.NewClient(o)
	}
	cfg := gateway.Config{
		Brokers: s.env.Brokers, Partitions: livePartitions, Producer: sv.producer, Registerer: g.registry, DrainFor: time.Millisecond,
		Group: s.prefix + "gateway",
		Topics: gateway.Topics{
			Messages: s.input(events.Messages), Reads: s.input(events.Reads), Deliveries: s.input(events.Deliveries),
			Unread: s.output(events.TopicUnread), Channels: s.output(events.TopicChannels), Receipts: s.output(events.TopicReceipts),
		},
		Query: query.Handler(query.Config{Node: query.NodeOf[*processor.Watcher](sv.proc), Topics: sv.cfg.Topics.Inputs, Self: sv.url, Stopping: ctx}),
		// All clients have one address here, as behind a load balancer.
		Limits: gateway.Limits{HandshakesPerSecond: 1e6, HandshakesBurst: 1e6},
	}
	if g.rdb != nil {
		cfg.Redis = g.rdb
	}
	g.cfg = cfg
	gw, err := gateway.New(cfg)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g.addr, g.http = l.Addr().String(), &http.Server{Handler: gw, ReadHeaderTimeout: 10 * time.Second}
	run, cancel := context.WithCancel(ctx)
	g.cancel = cancel
	go func() { _ = g.http.Serve(l) }() // ends with stop
	go func() { defer close(g.ended); _ = gw.Run(run) }()
	if g.clients, err = startHive(ctx, s.env.Swarm, s.env.Progress); err == nil {
		err = sv.poll(ctx, func() (bool, error) { ready, _ := gw.Ready(); return ready, nil })
	}
	if err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return g, nil
}

func (g *sockets) stop() (err error) {
	if g.clients != nil {
		err = g.clients.close()
	}
	g.cancel()
	<-g.ended
	if g.rdb != nil {
		err = errors.Join(err, g.rdb.Close())
	}
	return errors.Join(err, g.http.Close())
}

// metric is the value of one of the gateway's counters or gauges.
func (g *sockets) metric(name string) (float64, error) {
	families, err := g.registry.Gather()
	if err != nil {
		return 0, err
	}
	for _, f := range families {
		if f.GetName() == "tidemark_gateway_"+name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue(), nil
		}
	}
	return 0, fmt.Errorf("the gateway has no metric %q", name)
}

// gone waits until the gateway has noticed that nobody is connected any more.
func (g *sockets) gone(ctx context.Context) error {
	if _, err := g.clients.tell(order{Drop: true, Afresh: true}); err != nil {
		return err
	}
	return g.poll(ctx, func() (bool, error) {
		n, err := g.metric("connections")
		return n == 0, err
	})
}

// settled waits until all that was written is folded and published.
func (g *sockets) settled(ctx context.Context) error {
	ends, err := g.s.ends(ctx)
	if err != nil {
		return err
	}
	return g.reach(ctx, ends)
}

// inUse is what this process holds, in bytes: live heap and stacks.
func inUse() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}
