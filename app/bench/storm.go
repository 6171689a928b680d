package bench

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/app/bench/swarm"
	"github.com/tidemark/tidemark/internal/traffic"
)

// stormLimit is the heap limit while everybody connects at once, as on a node with --memory.
// Without a limit the collector would let garbage grow to GCPercent of the live heap.
const stormLimit = 512 << 20

// storm connects users, measures their cost while they are idle, and makes all of them reconnect at
// the same moment.
func (g *sockets) storm(ctx context.Context, c crowd) ([]gauge.Result, error) {
	g.s.env.report("%d users come", c.idle)
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	users := make([]string, c.idle)
	for i := range users {
		users[i] = traffic.UserID(i)
	}
	before := gauge.InUse()
	few := max(1, c.idle/10)
	if _, err := g.clients.Connect(swarm.Order{Connect: users[:few], Addr: g.addr, AtOnce: 64}); err != nil {
		return nil, err
	}
	ofFew := (gauge.InUse() - before) / float64(few) / 1024
	rest, err := g.clients.Connect(swarm.Order{Connect: users[few:], Addr: g.addr, AtOnce: 64})
	if err != nil {
		return nil, err
	}
	each := (gauge.InUse() - before) / float64(c.idle) / 1024

	g.s.env.report("all of them come again at once")
	if err := g.gone(ctx); err != nil {
		return nil, err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(stormLimit))
	peak := gauge.WatchMemory()
	back, err := g.clients.Connect(swarm.Order{Connect: users, Addr: g.addr, AtOnce: c.idle})
	resident, heap := peak()
	if err != nil {
		return nil, err
	}
	return []gauge.Result{
		{
			Name:  fmt.Sprintf("%d idle connections of users in 10 channels", c.idle),
			Goals: []gauge.Goal{gauge.AtMost("KiB a connection, heap and stacks", each, 20)},
			Note:  fmt.Sprintf("the server's alone: clients are in another process; %.1f KiB for each of the first %d; the others came within %.1f s, 64 at a time", ofFew, few, rest.Seconds),
		},
		{
			Name:  fmt.Sprintf("%d users come back at once", c.idle),
			Goals: []gauge.Goal{gauge.AtMost("users without an inbox", float64(back.Failed), 0), gauge.AtMost("MiB resident at the peak", resident/(1<<20), 1024)},
			Note: fmt.Sprintf("all had their inbox after %.1f s, p50 %.0f ms, p99 %.0f ms; %d were told to come back later; heap at most %.0f MiB",
				back.Seconds, back.Inbox.P50, back.Inbox.P99, back.Later, heap/(1<<20)) + fmt.Sprintf(" with a limit of %d", stormLimit>>20),
		},
	}, g.gone(ctx)
}
