package bench

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/tidemark/tidemark/internal/load"
)

// stormLimit is the heap limit while everybody comes at once, as of a node with --memory: without one the collector
// would let garbage grow to GCPercent of what is alive.
const stormLimit = 512 << 20

// storm connects users, measures what they take while they are idle, and has all of them connect again at the same moment.
func (g *sockets) storm(ctx context.Context, c crowd) ([]Result, error) {
	g.s.env.say("%d users come", c.idle)
	if err := g.settled(ctx); err != nil {
		return nil, err
	}
	users := make([]string, c.idle)
	for i := range users {
		users[i] = load.UserID(i)
	}
	before := inUse()
	first, err := g.clients.connect(order{Connect: users, Addr: g.addr, AtOnce: 64})
	if err != nil {
		return nil, err
	}
	each := (inUse() - before) / float64(c.idle) / 1024

	g.s.env.say("all of them come again at once")
	if err := g.gone(ctx); err != nil {
		return nil, err
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(stormLimit))
	peak := watchMemory()
	again, err := g.clients.connect(order{Connect: users, Addr: g.addr, AtOnce: c.idle})
	resident, heap := peak()
	if err != nil {
		return nil, err
	}
	return []Result{
		{
			Name:  fmt.Sprintf("%d idle connections of users in 10 channels", c.idle),
			Goals: []Goal{atMost("KiB a connection, heap and stacks", each, 20)},
			Note:  fmt.Sprintf("the server's alone: clients are in another process; they came within %.1f s, 64 at a time", first.Seconds),
		},
		{
			Name:  fmt.Sprintf("%d users come back at once", c.idle),
			Goals: []Goal{atMost("users without an inbox", float64(again.Failed), 0), atMost("MiB resident at the peak", resident/(1<<20), 1024)},
			Note: fmt.Sprintf("all had their inbox after %.1f s, p50 %.0f ms, p99 %.0f ms; %d were told to come back later; heap at most %.0f MiB",
				again.Seconds, again.Inbox.P50, again.Inbox.P99, again.Later, heap/(1<<20)) + fmt.Sprintf(" with a limit of %d", stormLimit>>20),
		},
	}, g.gone(ctx)
}

// watchMemory looks at this process's memory until the returned function is called, which says how much was resident and
// how large the heap was at most, in bytes.
func watchMemory() (peak func() (resident, heap float64)) {
	var mostResident, mostHeap float64
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	look := func() {
		now, _ := resident()
		metrics.Read(sample)
		mostResident, mostHeap = max(mostResident, float64(now)), max(mostHeap, float64(sample[0].Value.Uint64()))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for {
			look()
			select {
			case <-ticks.C:
			case <-stop:
				return
			}
		}
	})
	return func() (float64, float64) {
		close(stop)
		wg.Wait()
		look()
		return mostResident, mostHeap
	}
}
