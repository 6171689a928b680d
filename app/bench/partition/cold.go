package partition

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// Cold measures a partition with 20 million pairs whose channels are nearly all cold: resident
// memory with the shares of --memory 1GiB, the cost of traffic to few channels and to all, and
// queries of cold channels, in process and by HTTP. It must run in its own process.
func Cold(ctx context.Context) (out []gauge.Result, err error) {
	if now, _ := gauge.Resident(); now == 0 {
		return nil, fmt.Errorf("resident memory cannot be measured on %s: run this bench on Linux", runtime.GOOS)
	}
	const limit = 1 << 30
	shares, err := config.PlanMemory(limit, 1)
	if err != nil {
		return nil, err
	}
	mix := traffic.Mixes["G"]
	mix.Heavy = mix.Channels / 352 // each in 44 channels, some of which are in memory
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	return cold(ctx, coldRun{
		mix: mix, events: 2_000_000, asked: 1000, steadily: 20 * time.Second, heap: int64(shares.Heap),
		little: roomOf(shares),
	})
}

// coldRun is the size of the bench cold.
type coldRun struct {
	mix    traffic.Mix
	events int // that are measured, of traffic to few channels
	asked  int // queries of each kind without other traffic
	// steadily is how long queries are asked beside traffic at a steady rate.
	steadily time.Duration
	heap     int64
	little   room
}

func cold(ctx context.Context, c coldRun) (out []gauge.Result, err error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(c.heap))
	small, err := openCold(c.mix, projections.DefaultSettings(), c.little)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.close()) }()
	few, all := c.mix, c.mix
	few.Channels /= 100
	all.Uniform, all.Reads = true, 1 // so that nearly every message is in another channel
	g := traffic.New(few)
	fewCost, err := small.mean(g, few, c.events, c.heap)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	resident, largest := gauge.Resident()
	s := small.d.p.Stats()
	asked, err := small.queries(ctx, &c, loads(g, few, all))
	if err != nil {
		return nil, err
	}
	allCost, err := small.cost(nil, all, c.events/4, c.heap)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	crowded, _ := gauge.Resident()
	again := small.d.p.Stats()
	opened, listed, err := small.reopen(c.little)
	if err != nil {
		return nil, err
	}
	const heap = 1 << 40
	debug.SetMemoryLimit(heap)
	large, err := openCold(c.mix, projections.DefaultSettings(), room{cache: everything.cache, memtable: c.little.memtable})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, large.close()) }()
	fewBase, err := large.mean(traffic.New(few), few, c.events, heap)
	if err != nil {
		return nil, err
	}
	allBase, err := large.cost(nil, all, c.events/4, heap)
	if err != nil {
		return nil, err
	}
	return append([]gauge.Result{{
		Name: fmt.Sprintf("%d pairs with --memory 1GiB", s.Pairs),
		Goals: []gauge.Goal{
			gauge.AtMost("MiB resident", float64(resident>>20), 1229),
			gauge.AtMost("s to open it", opened.Seconds(), 2),
			gauge.AtMost("times the cost of everything in memory, traffic to 1 % of the channels", fewCost/fewBase, 1.2),
			gauge.AtMost("times the cost, traffic to all channels at random", allCost/allBase, 6),
		},
		Note: fmt.Sprintf("%d of %d channels cold, %d MiB of hot state; %.2f and %.2f cpu-s/Mev, %.2f and %.2f with everything in memory; %d channels came back; "+
			"%d MiB resident after traffic to all; largest %d MiB, with the bench's own records; %.1f s to open it and to list its cold channels",
			s.ColdChannels, s.Channels, s.HotBytes>>20, fewCost, allCost, fewBase, allBase, again.Loaded, crowded>>20, largest>>20, listed.Seconds()),
	}}, asked...), nil
}

// queries measures queries, alone and beside each of the loads.
func (p *coldPart) queries(ctx context.Context, c *coldRun, loads []load) (out []gauge.Result, err error) {
	s, err := p.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	for i, set := range []struct {
		name    string
		queries []coldQuery
	}{
		{"cold channels, in process", p.inProcess(c.mix)},
		{"cold channels, by HTTP", s.byHTTP(ctx, c.mix)},
	} {
		r := gauge.Result{Name: set.name, Note: "p50, largest and number of queries:"}
		add := func(when string, took [][]time.Duration) {
			r.Goals = append(r.Goals, goals(set.queries, took, when)...)
			for i := range took {
				p50, _, largest := gauge.Quantiles(took[i])
				r.Note += fmt.Sprintf(" %.2f and %.1f ms of %d;", p50, largest, len(took[i]))
			}
		}
		alone, err := ask(set.queries, func(turns int) bool { return turns < c.asked })
		if err != nil {
			return nil, err
		}
		add("", alone)
		for _, l := range loads {
			l.mix.Seed += int64(i) // a load that begins its generator has new events in each set
			took, err := beside(set.queries, func(ready func()) error { return p.foldBeside(l, l.events(c), c.heap, ready) })
			if err != nil {
				return nil, err
			}
			add(" beside "+l.what, took)
		}
		out = append(out, r)
	}
	return out, nil
}
