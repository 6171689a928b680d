package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/projections"
)

// task is what a folder is measured with.
type task struct {
	name     string
	mix      load.Mix
	settings projections.Settings
	silent   bool // without deltas
	n        int  // events, after a fourth as many for a steady state
	pace     pace
}

// foldRun folds the events of a task over its joined channels. Its goals are the figures that tasks are judged by; the
// caller keeps those it wants.
func foldRun(t task) (r Result, allocs float64, err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return Result{}, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f, err := openFolder(filepath.Join(dir, "store"), t.settings)
	if err != nil {
		return Result{}, 0, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	g := load.New(t.mix)
	if err := f.join(g); err != nil {
		return Result{}, 0, err
	}
	f.silent = t.silent
	if t.pace.drain > 0 {
		f.pace = t.pace
	}
	draw := func(n int) []record { return records(g.Next, n) }
	if t.pace.apart {
		a := &apart{g: g}
		draw = func(n int) []record { return records(a.next, n) }
	}
	if err := f.foldAll(draw(t.n / 4)); err != nil {
		return Result{}, 0, err
	}
	recs := draw(t.n)
	runtime.GC()
	f.phases = phases{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := &meter{}
	m.start()
	if err := f.foldAll(recs); err != nil {
		return Result{}, 0, err
	}
	r = m.stop(t.name, t.n)
	runtime.ReadMemStats(&after)
	allocs = float64(after.Mallocs-before.Mallocs) / float64(t.n)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(t.n) }
	r.Note = fmt.Sprintf("us an event: decode %.2f, fold %.2f, drain %.2f, cut %.2f, apply %.2f; %.2f allocations and %.2f deltas an event; %d pairs",
		us(f.decode), us(f.fold), us(f.drain), us(f.cut), us(f.apply), allocs, float64(f.deltasOut)/float64(t.n), f.p.Stats().Pairs)
	return r, allocs, nil
}

func fanoutOff() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit = 0
	return s
}

// Fold measures the fold alone: encoded records in memory, through decoding, folding, digest and the store that is written
// behind; and with the deltas encoded as well.
func Fold(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	mix, all := load.Mixes["B"], load.Mixes["R"]
	mix.Channels, all.Channels = 20_000, 20_000
	const n = 2_000_000
	var out []Result
	for _, t := range []struct {
		task
		cpu float64
	}{
		{task{"fold alone, mix B, 1M pairs", mix, projections.DefaultSettings(), true, n, pace{}}, 2},
		{task{"fold and deltas, mix B, 1M pairs, fan-out off", mix, fanoutOff(), false, n, pace{}}, 0},
		{task{"fold and deltas, mix B, 1M pairs, fan-out 50", mix, projections.DefaultSettings(), false, n, pace{}}, 0},
		{task{"fold alone, mix B with deliveries and threads, 1M pairs", all, projections.DefaultSettings(), true, n, pace{}}, 2.5},
		{task{"fold and deltas, the same, fan-out off", all, fanoutOff(), false, n, pace{}}, 0},
	} {
		r, allocs, err := foldRun(t.task)
		if err != nil {
			return out, fmt.Errorf("%s: %w", t.name, err)
		}
		if t.cpu > 0 {
			r.Goals = []Goal{atMost("cpu-s/Mev", r.CPU, t.cpu), atMost("allocations an event", allocs, 0.5)}
		}
		out = append(out, r)
		debug.FreeOSMemory()
	}
	return out, nil
}

// Scale measures what the cost of the fold does as state grows: 10,000 to 5 million pairs, as they come and with equal
// work for each event, and channels of 2 to 100,000 members at an equal number of pairs.
//
// As they come, few pairs cost less for two reasons: they are in the cache, and there is less to do, since many reads of a
// pair are one delta, and many changes of a page are one write of it. With equal work each event has a delta of its own, and
// a page is written for as many events at either end: what is left is the memory.
func Scale(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	var pairs, equal, members []task
	for _, channels := range []int{200, 20_000, 100_000} {
		mix := load.Mixes["B"]
		mix.Channels = channels
		pairs = append(pairs, task{fmt.Sprintf("fold and deltas, mix B, fan-out off, %d pairs", channels*mix.Members), mix, fanoutOff(), false, 1_500_000, pace{}})
		equal = append(equal, task{fmt.Sprintf("the same with equal work for each event, %d pairs", channels*mix.Members), mix, fanoutOff(), false, 3_000_000, equalPace(mix)})
	}
	for _, c := range []struct{ channels, members int }{{50_000, 2}, {100, 1_000}, {1, 100_000}} {
		mix := load.Mix{Name: "M", Channels: c.channels, Members: c.members, Users: 100_000, Seed: 9}
		members = append(members, task{fmt.Sprintf("messages into %d members, fan-out off", c.members), mix, fanoutOff(), false, 400_000, pace{}})
	}
	grown, err := compare(pairs, 1.5)
	if err != nil {
		return grown, err
	}
	same, err := compare(equal, 1.5)
	if grown = append(grown, same...); err != nil {
		return grown, err
	}
	larger, err := compare(members, 1.2)
	return append(grown, larger...), err
}

// compare runs tasks whose last should cost at most so many times what the first does.
func compare(tasks []task, times float64) (out []Result, err error) {
	for i, t := range tasks {
		r, _, err := foldRun(t)
		if err != nil {
			return out, fmt.Errorf("%s: %w", t.name, err)
		}
		out = append(out, r)
		if i == len(tasks)-1 {
			out[i].Goals = []Goal{atMost("times the first", r.CPU/out[0].CPU, times)}
		}
		debug.FreeOSMemory()
	}
	return out, nil
}
