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

	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/load"
)

// offices are the addresses that users come from where the limits of a gateway hold: as many as there are to one address
// behind a router are more than it lets in at once.
const offices = 20

// limitedStorm has all users come at the same moment to a gateway with the limits that it has by default: most are told to come
// back later, and do.
func (g *sockets) limitedStorm(ctx context.Context, c crowd) (out []Result, err error) {
	g.s.env.say("all of them come at once, from %d addresses, to a gateway with its limits", offices)
	addr, stop, err := g.limited(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	users := make([]string, c.idle)
	for i := range users {
		users[i] = load.UserID(i)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(stormLimit))
	peak := watchMemory()
	a, err := g.clients.connect(order{Connect: users, Addr: addr, AtOnce: c.idle, From: offices})
	resident, heap := peak()
	if err != nil {
		return nil, err
	}
	_, err = g.clients.tell(order{Drop: true, Afresh: true})
	return []Result{{
		Name:  fmt.Sprintf("%d users come at once from %d addresses, with the limits of a gateway", c.idle, offices),
		Goals: []Goal{atMost("users without an inbox", float64(a.Failed), 0), atMost("MiB resident at the peak", resident/(1<<20), 1024)},
		Note: fmt.Sprintf("all had their inbox after %.1f s, p50 %.1f s, p99 %.1f s; they were told to come back later %d times; heap at most %.0f MiB",
			a.Seconds, a.Inbox.P50/1000, a.Inbox.P99/1000, a.Later, heap/(1<<20)),
	}}, err
}

// limited starts another gateway, with the limits of one that nothing was said to, until the returned function is called.
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
