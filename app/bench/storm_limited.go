package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/traffic"
)

// offices is the number of addresses that users come from when the limits of a gateway apply. Each
// stands for an office behind one router, with more users than a gateway admits at once from one
// address.
const offices = 20

// limitedStorm connects all users at the same moment to a gateway with default limits. The gateway
// tells most of them to come back later, and they do.
func (g *sockets) limitedStorm(ctx context.Context, c crowd) (out []gauge.Result, err error) {
	g.s.env.report("all of them come at once, from %d addresses, to a gateway with its limits", offices)
	addr, stop, err := g.limited(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	users := make([]string, c.idle)
	for i := range users {
		users[i] = traffic.UserID(i)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(stormLimit))
	peak := gauge.WatchMemory()
	a, err := g.clients.Connect(swarm.Order{Connect: users, Addr: addr, AtOnce: c.idle, From: offices})
	resident, heap := peak()
	if err != nil {
		return nil, err
	}
	_, err = g.clients.Do(swarm.Order{Drop: true, Reset: true})
	return []gauge.Result{{
		Name:  fmt.Sprintf("%d users come at once from %d addresses, with the limits of a gateway", c.idle, offices),
		Goals: []gauge.Goal{gauge.AtMost("users without an inbox", float64(a.Failed), 0), gauge.AtMost("MiB resident at the peak", resident/(1<<20), 1024)},
		Note: fmt.Sprintf("all had their inbox after %.1f s, p50 %.1f s, p99 %.1f s; they were told to come back later %d times; heap at most %.0f MiB",
			a.Seconds, a.Inbox.P50/1000, a.Inbox.P99/1000, a.Later, heap/(1<<20)),
	}}, err
}

// limited starts another gateway with default limits. It runs until the caller calls stop.
func (g *sockets) limited(ctx context.Context) (addr string, stop func() error, err error) {
	cfg := g.cfg
	cfg.Limits, cfg.Registerer, cfg.Group = gateway.Limits{}, prometheus.NewRegistry(), cfg.Group+"-limited"
	gw, err := gateway.New(cfg)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	run, cancel := context.WithCancel(ctx)
	s, ended := &http.Server{Handler: gw, ReadHeaderTimeout: 10 * time.Second}, make(chan struct{})
	go func() { _ = s.Serve(l) }() // ends with stop
	go func() { defer close(ended); _ = gw.Run(run) }()
	stop = func() error {
		cancel()
		<-ended
		return s.Close()
	}
	if err := g.poll(ctx, func() (bool, error) { ready, _ := gw.Ready(); return ready, nil }); err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return l.Addr().String(), stop, nil
}
