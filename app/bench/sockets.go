package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/query"
)

// sockets is a node with a gateway in this process, and clients in another.
type sockets struct {
	*server
	addr     string         // host:port of the sockets
	cfg      gateway.Config // of the gateway there
	registry *prometheus.Registry
	rdb      *redis.Client // of the gateway; nil: no presence
	http     *http.Server
	cancel   context.CancelFunc
	ended    chan struct{}
	clients  *swarm.Process
}

// embedded returns e, with an embedded broker and an embedded Redis if e has no brokers.
func (e Env) embedded() (_ Env, stop func(), err error) {
	if len(e.Brokers) > 0 {
		return e, func() {}, nil
	}
	kafka, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return e, nil, fmt.Errorf("embedded Kafka: %w", err)
	}
	mini := miniredis.NewMiniRedis() // without expiry of keys, for which miniredis sorts all of them repeatedly
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
		Query: query.NewLocal(query.Config{Node: sv.proc, Topics: sv.cfg.Topics.Inputs, Self: sv.url, Stopping: ctx}),
		// All clients have the same address here, as behind a load balancer.
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
	if g.clients, err = swarm.Start(ctx, s.env.Swarm, s.env.Progress); err == nil {
		err = sv.poll(ctx, func() (bool, error) { ready, _ := gw.Ready(); return ready, nil })
	}
	if err != nil {
		return nil, errors.Join(err, g.stop())
	}
	return g, nil
}

func (g *sockets) stop() (err error) {
	if g.clients != nil {
		err = g.clients.Close()
	}
	g.cancel()
	<-g.ended
	if g.rdb != nil {
		err = errors.Join(err, g.rdb.Close())
	}
	return errors.Join(err, g.http.Close())
}

// metric returns the value of one of the gateway's counters or gauges.
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

// gone waits until the gateway has no connections any more.
func (g *sockets) gone(ctx context.Context) error {
	if _, err := g.clients.Do(swarm.Order{Drop: true, Reset: true}); err != nil {
		return err
	}
	return g.poll(ctx, func() (bool, error) {
		n, err := g.metric("connections")
		return n == 0, err
	})
}

// settled waits until all written events are folded and published.
func (g *sockets) settled(ctx context.Context) error {
	ends, err := g.s.ends(ctx)
	if err != nil {
		return err
	}
	return g.reach(ctx, ends)
}

// put produces message events without waiting for them. The first error goes to failed.
func (g *sockets) put(ctx context.Context, failed chan<- error, list ...*eventsv1.MessageEvent) error {
	for _, e := range list {
		r, err := traffic.Record(e, g.s.input)
		if err != nil {
			return err
		}
		g.producer.Produce(ctx, r, func(_ *kgo.Record, err error) {
			if err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	return nil
}

// paced posts n messages to the channels in turn, one after each interval. hear users receive each
// of them. It returns the counts of the clients since the previous order.
func (g *sockets) paced(ctx context.Context, n int, every time.Duration, channels []string, hear int) (swarm.Answer, error) {
	if _, err := g.clients.Do(swarm.Order{Reset: true}); err != nil {
		return swarm.Answer{}, err
	}
	failed := make(chan error, 1)
	began := time.Now()
	for i := range n {
		if d := time.Until(began.Add(time.Duration(i) * every)); d > 0 {
			time.Sleep(d)
		}
		if err := g.put(ctx, failed, posts(channels[i%len(channels)], swarm.MessageID(time.Now(), i), "other", "")); err != nil {
			return swarm.Answer{}, err
		}
	}
	return g.received(ctx, int64(n*hear), failed)
}

// received waits until the clients have counted want messages.
func (g *sockets) received(ctx context.Context, want int64, failed <-chan error) (swarm.Answer, error) {
	last, at := int64(-1), time.Now()
	for {
		a, err := g.clients.Do(swarm.Order{})
		switch {
		case err != nil || a.Messages >= want:
			return a, err
		case a.Broken > 0:
			return a, fmt.Errorf("%d connections broke", a.Broken)
		case a.Messages != last:
			last, at = a.Messages, time.Now()
		case time.Since(at) > 20*time.Second:
			return a, fmt.Errorf("%d of %d messages were received, and none in 20 s", a.Messages, want)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case err := <-failed:
			return a, err
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}
