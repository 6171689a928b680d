package partition

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
)

// Flat compares an event in a partition of 20 million pairs with one in a partition of 10,000, with
// the same events in 500 channels. The other channels of the large partition sleep. Both have the
// shares of --memory 1GiB.
func Flat(ctx context.Context) ([]gauge.Result, error) {
	shares, err := config.PlanMemory(1<<30, 1)
	if err != nil {
		return nil, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	return flat(ctx, flatRun{
		mix: traffic.Mixes["G"], busy: 500, events: 1_000_000, rounds: 3, heap: int64(shares.Heap),
		room: roomOf(shares),
	})
}

// flatRun is the size of the bench.
type flatRun struct {
	mix    traffic.Mix // of the large partition
	busy   int         // channels with traffic, and all those of the small partition
	events int         // of each round
	rounds int         // in each partition that is opened
	heap   int64
	room   room
}

// flat measures the small partition before and after the large one, because the machine's speed
// changes.
func flat(ctx context.Context, f flatRun) ([]gauge.Result, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(f.heap))
	busy := f.mix
	busy.Channels = f.busy
	small, large := gauge.Rounds{}, gauge.Rounds{}
	var before, after string
	for _, x := range []struct {
		mix    traffic.Mix
		rounds *gauge.Rounds
		note   *string
	}{{busy, &small, &before}, {f.mix, &large, &after}, {busy, &small, &before}} {
		if err := f.measure(ctx, x.mix, busy, x.rounds, x.note); err != nil {
			return nil, err
		}
	}
	base := small.Result(fmt.Sprintf("fold and deltas, mix G, fan-out off, into all of %d channels", f.busy))
	base.Note += "; " + before
	most := large.Result(fmt.Sprintf("the same events, into %d of %d channels", f.busy, f.mix.Channels))
	most.Note += "; equal hot sets: " + after
	most.Goals = []gauge.Goal{gauge.AtMost("times the first", most.CPU/base.CPU, 1.3)}
	return []gauge.Result{base, most}, nil
}

// measure adds the cost of rounds of traffic in a new partition of a mix, and notes its state.
func (f *flatRun) measure(ctx context.Context, mix, busy traffic.Mix, rounds *gauge.Rounds, note *string) (err error) {
	p, err := openCold(mix, fanoutOff(), f.room)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, p.close())
		p = nil
		debug.FreeOSMemory()
	}()
	g := traffic.New(busy)
	cuts := p.d.cuts
	for range f.rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		cost, err := p.cost(g, busy, f.events, f.heap)
		if err != nil {
			return err
		}
		*rounds = append(*rounds, cost)
	}
	s := p.d.p.Stats()
	*note = fmt.Sprintf("%d pairs, %d of %d channels cold, %d MiB of hot state, %d cuts", s.Pairs, s.ColdChannels, s.Channels, s.HotBytes>>20, p.d.cuts-cuts)
	return nil
}
