package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/events/eventsv1"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/load"
)

// crowd is how much the gateway's bench does.
type crowd struct {
	idle     int // connections that do nothing, of users in 10 channels each
	wide     int // channels of the user whose inbox is waited for
	arrivals int // of that user
	single   int // messages one by one
	busy     int // channels of 50 in which everybody is connected
	messages int // into these, as fast as it goes
	half     time.Duration
	either   int // messages into these, to compare what deltas cost by topics and by pub/sub
}

// busyMembers is the size of busy channels: the largest that have deltas for each member by default.
const busyMembers = 50

// Gateway measures what sockets wait for and what they cost, on the brokers and the Redis of env, or on embedded ones.
func Gateway(ctx context.Context, env Env) ([]Result, error) {
	return gatewayOn(ctx, env, crowd{idle: 10_000, wide: 1_000, arrivals: 60, single: 500, busy: 20, messages: 20_000, half: 10 * time.Second, either: 3_000})
}

func gatewayOn(ctx context.Context, env Env, c crowd) (out []Result, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent)) // as a node has it
	if err := needFiles(uint64(c.idle) + 500); err != nil {
		return nil, err
	}
	env, stop, err := env.embedded()
	if err != nil {
		return nil, err
	}
	defer stop()
	mix := load.Mix{Name: "sockets", Channels: max(1, c.idle/5), Members: busyMembers, Users: c.idle, Seed: 9}
	err = on(ctx, env, mix, func(s *stage) (err error) {
		if err := s.write(ctx, 2*mix.Channels); err != nil { // so that inboxes have something to say
			return err
		}
		sv, err := s.serve(ctx)
		if err != nil {
			return err
		}
		g, err := sv.sockets(ctx)
		if err != nil {
			return errors.Join(err, sv.close())
		}
		defer func() { err = errors.Join(err, g.stop(), sv.close()) }()
		for _, b := range []func(context.Context, crowd) ([]Result, error){g.inbox, g.light, g.storm, g.limitedStorm, g.frames, g.pubsub} {
			r, err := b(ctx, c)
			out = append(out, r...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// put produces message events and does not wait for them; the first that fails is left in failed.
func (g *sockets) put(ctx context.Context, failed chan<- error, list ...*eventsv1.MessageEvent) error {
	for _, e := range list {
		value, err := proto.Marshal(e)
		if err != nil {
			return err
		}
		r := &kgo.Record{Topic: g.s.input(events.Messages), Key: []byte(e.ChannelId), Value: value}
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

// inbox measures from dialing to the inbox of a user in many channels, each with something unread.
func (g *sockets) inbox(ctx context.Context, c crowd) ([]Result, error) {
	g.s.env.say("the inbox of a user in %d channels", c.wide)
	var setup []proto.Message
	for i := range c.wide {
		channel := fmt.Sprintf("wide%d", i)
		setup = append(setup, joins(channel, "wide", "other"), posts(channel, fmt.Sprintf("w%d", i), "other", ""))
	}
	if _, err := g.write(ctx, setup...); err != nil {
		return nil, err
	}
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	o := order{Connect: slices.Repeat([]string{"wide"}, 10), Addr: g.addr, AtOnce: 1, Leave: true}
	if _, err := g.clients.connect(o); err != nil { // warms it up
		return nil, err
	}
	o.Connect = slices.Repeat([]string{"wide"}, c.arrivals)
	a, err := g.clients.connect(o)
	if err != nil {
		return nil, err
	}
	return []Result{{
		Name:  fmt.Sprintf("dial to inbox, %d channels", c.wide),
		Goals: []Goal{atMost("ms, p50", a.Inbox.P50, 50), atMost("ms, p99", a.Inbox.P99, 50)},
		Note:  fmt.Sprintf("%d connections one after the other, largest %.1f ms", a.Inbox.N, a.Inbox.Largest),
	}}, g.gone(ctx)
}

// light measures from a message's production to its frame at a member's socket, 50 messages a second.
func (g *sockets) light(ctx context.Context, c crowd) ([]Result, error) {
	g.s.env.say("event to socket, one by one")
	if _, err := g.write(ctx, joins("watched", "watcher", "other")); err != nil {
		return nil, err
	}
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	if _, err := g.clients.connect(order{Connect: []string{"watcher"}, Addr: g.addr}); err != nil {
		return nil, err
	}
	const every, warm = 20 * time.Millisecond, 20
	if _, err := g.paced(ctx, warm, every, []string{"watched"}, 1); err != nil {
		return nil, err
	}
	a, err := g.paced(ctx, c.single, every, []string{"watched"}, 1)
	if err != nil {
		return nil, err
	}
	return []Result{{
		Name:  "event to socket, 50 events a second",
		Goals: []Goal{atMost("ms, p50", a.Latency.P50, 10), atMost("ms, p99", a.Latency.P99, 40)},
		Note:  fmt.Sprintf("%d messages, largest %.1f ms", a.Latency.N, a.Latency.Largest),
	}}, g.gone(ctx)
}

// paced posts n messages to channels in turn, one every so often, each of which some people hear. It returns what the
// clients counted since the order before.
func (g *sockets) paced(ctx context.Context, n int, every time.Duration, channels []string, hear int) (answer, error) {
	if _, err := g.clients.tell(order{Afresh: true}); err != nil {
		return answer{}, err
	}
	failed := make(chan error, 1)
	began := time.Now()
	for i := range n {
		if d := time.Until(began.Add(time.Duration(i) * every)); d > 0 {
			time.Sleep(d)
		}
		if err := g.put(ctx, failed, posts(channels[i%len(channels)], stampedID(time.Now(), i), "other", "")); err != nil {
			return answer{}, err
		}
	}
	return g.heard(ctx, int64(n*hear), failed)
}

// heard waits until the clients have counted so many messages.
func (g *sockets) heard(ctx context.Context, want int64, failed <-chan error) (answer, error) {
	last, at := int64(-1), time.Now()
	for {
		a, err := g.clients.tell(order{})
		switch {
		case err != nil || a.Messages >= want:
			return a, err
		case a.Broken > 0:
			return a, fmt.Errorf("%d connections broke", a.Broken)
		case a.Messages != last:
			last, at = a.Messages, time.Now()
		case time.Since(at) > 20*time.Second:
			return a, fmt.Errorf("%d of %d messages were heard, and none in 20 s", a.Messages, want)
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
