package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/events"
)

// pubsub compares two ways in which a gateway could receive changes (DESIGN §10): from the output
// topics, as it does, or from the Redis channels of the cache role (unread:<user>, DESIGN §8).
// Without a Redis there is nothing to compare.
func (g *sockets) pubsub(ctx context.Context, c crowd) ([]gauge.Result, error) {
	if g.rdb == nil {
		return nil, nil
	}
	g.s.env.report("topics and Redis pub/sub")
	if err := g.startCache(ctx); err != nil {
		return nil, err
	}
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	g.s.env.report("event to subscriber, one by one")
	late, err := g.publishedOneByOne(ctx, c)
	if err != nil {
		return nil, err
	}
	cost, err := g.either(ctx, c)
	if err != nil {
		return nil, err
	}
	return []gauge.Result{late, cost}, nil
}

// update is the part of a published delta that the bench reads.
type update struct {
	ChannelID string `json:"channel_id"`
	Unread    uint32 `json:"unread"`
}

// publishedOneByOne measures, for the same messages, the time from an event to its count at a
// subscriber of Redis, and to its frame at a socket.
func (g *sockets) publishedOneByOne(ctx context.Context, c crowd) (gauge.Result, error) {
	const channel, user = "told", "listener"
	if _, err := g.write(ctx, joins(channel, user, "other")); err != nil {
		return gauge.Result{}, err
	}
	if err := g.settled(ctx); err != nil {
		return gauge.Result{}, err
	}
	if _, err := g.clients.Connect(swarm.Order{Connect: []string{user}, Addr: g.addr}); err != nil {
		return gauge.Result{}, err
	}
	if _, err := g.clients.Do(swarm.Order{Reset: true}); err != nil {
		return gauge.Result{}, err
	}
	sub := g.rdb.Subscribe(ctx, cache.UnreadChannel(user))
	defer func() { _ = sub.Close() }() // nothing uses it after this
	if _, err := sub.Receive(ctx); err != nil {
		return gauge.Result{}, err
	}
	received := sub.Channel()
	failed := make(chan error, 1)
	var watch gauge.Stopwatch
	for i := range c.single {
		began := time.Now()
		if err := g.put(ctx, failed, posts(channel, swarm.MessageID(began, i), "other", "")); err != nil {
			return gauge.Result{}, err
		}
		for u := (update{}); u.ChannelID != channel || u.Unread != uint32(i+1); {
			select {
			case m := <-received:
				if err := json.Unmarshal([]byte(m.Payload), &u); err != nil {
					return gauge.Result{}, fmt.Errorf("decoding a published message: %w", err)
				}
			case err := <-failed:
				return gauge.Result{}, err
			case <-time.After(20 * time.Second):
				return gauge.Result{}, fmt.Errorf("message %d was not delivered by Redis within 20 s", i)
			}
		}
		watch.Add(time.Since(began))
		time.Sleep(20*time.Millisecond - min(20*time.Millisecond, time.Since(began)))
	}
	a, err := g.received(ctx, int64(c.single), failed)
	if err != nil {
		return gauge.Result{}, err
	}
	p := watch.Read()
	return gauge.Result{
		Name: "event to Redis subscriber, 50 events a second", Goals: []gauge.Goal{gauge.AtLeast("times the p50 to a socket by topics", p.P50/a.Latency.P50, 1)},
		Note: fmt.Sprintf("pub/sub p50 %.2f ms, p99 %.1f ms, before a socket was written to; by topics %.2f and %.1f ms, socket included",
			p.P50, p.P99, a.Latency.P50, a.Latency.P99),
	}, g.gone(ctx)
}

// either measures the CPU time that a delta costs on its way to a connected user, in two ways: the
// cache role publishes it and a subscriber receives it, or a gateway reads it from the topic a
// second time. It subtracts the cost of the same messages without a listener.
func (g *sockets) either(ctx context.Context, c crowd) (gauge.Result, error) {
	var channels, users []string
	for i := range c.busy {
		channels = append(channels, fmt.Sprintf("busy%d", i))
		for j := range busyMembers {
			users = append(users, fmt.Sprintf("busy%d-%d", i, j))
		}
	}
	servers := []string{}
	if !g.s.env.inProcess {
		servers = append(servers, g.s.env.Brokers[0], g.rdb.Options().Addr)
	}
	m, err := gauge.NewMeter(servers...)
	if err != nil {
		return gauge.Result{}, err
	}
	round := func() (float64, error) {
		g.s.env.report("%d messages, by topics or by pub/sub", c.either)
		m.Start()
		failed := make(chan error, 1)
		const rate = 1000
		began := time.Now()
		for i := range c.either {
			if d := time.Until(began.Add(time.Duration(i) * time.Second / rate)); d > 0 {
				time.Sleep(d)
			}
			if err := g.put(ctx, failed, posts(channels[i%len(channels)], swarm.MessageID(time.Now(), i), "other", "")); err != nil {
				return 0, err
			}
		}
		if err := g.settled(ctx); err != nil {
			return 0, err
		}
		return m.Stop("", c.either).CPU * float64(c.either), nil // in us
	}
	alone, err := round()
	if err != nil {
		return gauge.Result{}, err
	}
	received, stop, err := g.subscribers(ctx, users)
	if err != nil {
		return gauge.Result{}, err
	}
	subscribed, err := round()
	stop()
	if err != nil {
		return gauge.Result{}, err
	}
	read, stop, err := g.readers(ctx)
	if err != nil {
		return gauge.Result{}, err
	}
	consumed, err := round()
	stop()
	if err != nil {
		return gauge.Result{}, err
	}
	byPubSub := (subscribed - alone) / float64(max(1, received.Load()))
	byTopics := (consumed - alone) / float64(max(1, read.Load()))
	return gauge.Result{
		Name: fmt.Sprintf("deltas of %d users at 1,000 messages a second", len(users)),
		Note: fmt.Sprintf("CPU us a delta: by pub/sub %.1f (%d published), by topics %.1f (%d read); all without listeners %.1f us a message",
			byPubSub, received.Load(), byTopics, read.Load(), alone/float64(c.either)),
	}, nil
}

// subscribers subscribes to the updates of users, as a gateway would.
func (g *sockets) subscribers(ctx context.Context, users []string) (received *atomic.Int64, stop func(), err error) {
	names := make([]string, len(users))
	for i, u := range users {
		names[i] = cache.UnreadChannel(u)
	}
	sub := g.rdb.Subscribe(ctx, names...)
	for range names {
		if _, err := sub.Receive(ctx); err != nil {
			return nil, nil, fmt.Errorf("subscribing to %d users: %w", len(names), err)
		}
	}
	received = &atomic.Int64{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for m := range sub.Channel(redis.WithChannelSize(10_000)) {
			var u update
			if json.Unmarshal([]byte(m.Payload), &u) == nil {
				received.Add(1)
			}
		}
	})
	return received, func() { _ = sub.Close(); wg.Wait() }, nil
}

// readers reads deltas from the end of their topic on, as a gateway does.
func (g *sockets) readers(ctx context.Context) (read *atomic.Int64, stop func(), err error) {
	topic := g.s.output(events.TopicUnread)
	ends, err := g.s.adm.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, nil, err
	}
	from := map[int32]kgo.Offset{}
	ends.Each(func(o kadm.ListedOffset) { from[o.Partition] = kgo.NewOffset().At(o.Offset) })
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.s.env.Brokers...), kgo.FetchMaxWait(time.Second),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
	if err != nil {
		return nil, nil, err
	}
	read = &atomic.Int64{}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		var d events.UnreadDelta
		for ctx.Err() == nil {
			cl.PollRecords(ctx, 10_000).EachRecord(func(r *kgo.Record) {
				if events.DecodeUnreadDelta(r.Value, &d) == nil {
					read.Add(1)
				}
			})
		}
	})
	return read, func() { cancel(); wg.Wait(); cl.Close() }, nil
}
