package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
)

// crowd is the load of the bench gateway.
type crowd struct {
	idle     int // idle connections, of users in 10 channels each
	wide     int // channels of the user whose inbox is measured
	arrivals int // of that user
	single   int // single messages
	busy     int // channels of 50 in which everybody is connected
	messages int // into these, at full speed
	half     time.Duration
	either   int // messages into these, to compare deltas by topics and by pub/sub
}

// busyMembers is the size of busy channels: the largest that have deltas for each member by
// default.
const busyMembers = 50

// Gateway measures the latency and the cost of sockets, on the brokers and the Redis of env, or on
// embedded ones.
func Gateway(ctx context.Context, env Env) ([]gauge.Result, error) {
	return gatewayOn(ctx, env, crowd{idle: 10_000, wide: 1_000, arrivals: 60, single: 500, busy: 20, messages: 20_000, half: 10 * time.Second, either: 3_000})
}

func gatewayOn(ctx context.Context, env Env, c crowd) (out []gauge.Result, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent)) // as a node has it
	if err := gauge.NeedFiles(uint64(c.idle) + 500); err != nil {
		return nil, err
	}
	env, stop, err := env.embedded()
	if err != nil {
		return nil, err
	}
	defer stop()
	mix := traffic.Mix{Name: "sockets", Channels: max(1, c.idle/5), Members: busyMembers, Users: c.idle, Seed: 9}
	err = on(ctx, env, mix, func(s *stage) (err error) {
		if err := s.write(ctx, 2*mix.Channels); err != nil { // so that inboxes are not empty
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
		for _, b := range []func(context.Context, crowd) ([]gauge.Result, error){g.inbox, g.light, g.storm, g.limitedStorm, g.frames, g.pubsub} {
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

// inbox measures the time from dialing to the inbox, for a user in many channels with unread
// messages.
func (g *sockets) inbox(ctx context.Context, c crowd) ([]gauge.Result, error) {
	g.s.env.report("the inbox of a user in %d channels", c.wide)
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
	o := swarm.Order{Connect: slices.Repeat([]string{"wide"}, 10), Addr: g.addr, AtOnce: 1, Leave: true}
	if _, err := g.clients.Connect(o); err != nil { // warms up
		return nil, err
	}
	o.Connect = slices.Repeat([]string{"wide"}, c.arrivals)
	a, err := g.clients.Connect(o)
	if err != nil {
		return nil, err
	}
	return []gauge.Result{{
		Name:  fmt.Sprintf("dial to inbox, %d channels", c.wide),
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", a.Inbox.P50, 50), gauge.AtMost("ms, p99", a.Inbox.P99, 50)},
		Note:  fmt.Sprintf("%d connections one after the other, largest %.1f ms", a.Inbox.N, a.Inbox.Largest),
	}}, g.gone(ctx)
}

// light measures the time from a message's production to its frame at a member's socket, at 50
// messages per second.
func (g *sockets) light(ctx context.Context, c crowd) ([]gauge.Result, error) {
	g.s.env.report("event to socket, one by one")
	if _, err := g.write(ctx, joins("watched", "watcher", "other")); err != nil {
		return nil, err
	}
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	if _, err := g.clients.Connect(swarm.Order{Connect: []string{"watcher"}, Addr: g.addr}); err != nil {
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
	return []gauge.Result{{
		Name:  "event to socket, 50 events a second",
		Goals: []gauge.Goal{gauge.AtMost("ms, p50", a.Latency.P50, 10), gauge.AtMost("ms, p99", a.Latency.P99, 40)},
		Note:  fmt.Sprintf("%d messages, largest %.1f ms", a.Latency.N, a.Latency.Largest),
	}}, g.gone(ctx)
}
