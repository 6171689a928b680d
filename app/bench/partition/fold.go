package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// task is one measurement of the fold.
type task struct {
	name     string
	mix      traffic.Mix
	settings projections.Settings
	silent   bool // no deltas are drained
	n        int  // events, after a quarter as many for a steady state
	pace     pace
}

// foldRun folds the events of a task into its joined channels. It returns the result without goals,
// and the allocations per event.
func foldRun(t task) (r gauge.Result, allocs float64, err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return gauge.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := openDriver(filepath.Join(dir, "store"), t.settings)
	if err != nil {
		return gauge.Result{}, 0, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	g := traffic.New(t.mix)
	if err := d.join(g); err != nil {
		return gauge.Result{}, 0, err
	}
	if t.silent {
		d.replay()
	}
	if t.pace.drain > 0 {
		d.pace = t.pace
	}
	draw := func(n int) []record { return records(g.Next, n) }
	if t.pace.apart {
		a := &apart{g: g}
		draw = func(n int) []record { return records(a.next, n) }
	}
	if err := d.foldAll(draw(t.n / 4)); err != nil {
		return gauge.Result{}, 0, err
	}
	recs := draw(t.n)
	runtime.GC()
	d.phases = phases{}
	written := d.p.Disk().Written
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := &gauge.Meter{}
	m.Start()
	if err := d.foldAll(recs); err != nil {
		return gauge.Result{}, 0, err
	}
	r = m.Stop(t.name, t.n)
	runtime.ReadMemStats(&after)
	allocs = float64(after.Mallocs-before.Mallocs) / float64(t.n)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(t.n) }
	r.Note = fmt.Sprintf("us an event: decode %.2f, fold %.2f, drain %.2f, cut %.2f, apply %.2f; %.2f allocations and %.2f deltas an event; %.0f bytes written to disk an event; %d cuts; %d pairs",
		us(d.decode), us(d.fold), us(d.drain), us(d.cut), us(d.apply), allocs, float64(d.deltasOut)/float64(t.n),
		float64(d.p.Disk().Written-written)/float64(t.n), d.cuts, d.p.Stats().Pairs)
	return r, allocs, nil
}

func fanoutOff() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit = 0
	return s
}

// Fold measures the fold alone: it decodes and folds encoded records from memory, keeps the digest
// and writes cuts to the store. Other lines encode the deltas as well.
func Fold(context.Context) ([]gauge.Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	mix, all, posts, pairs := traffic.Mixes["B"], traffic.Mixes["R"], traffic.Mixes["A"], traffic.Mixes["C"]
	mix.Channels, all.Channels, posts.Channels = 20_000, 20_000, 20_000
	const n = 2_000_000
	var out []gauge.Result
	for _, t := range []struct {
		task
		cpu float64
	}{
		{task{"fold alone, mix B, 1M pairs", mix, projections.DefaultSettings(), true, n, pace{}}, 2},
		{task{"fold and deltas, mix B, 1M pairs, fan-out off", mix, fanoutOff(), false, n, pace{}}, 0},
		{task{"fold and deltas, mix B, 1M pairs, fan-out 50", mix, projections.DefaultSettings(), false, n, pace{}}, 0},
		{task{"fold alone, mix B with deliveries and threads, 1M pairs", all, projections.DefaultSettings(), true, n, pace{}}, 2.5},
		{task{"fold and deltas, the same, fan-out off", all, fanoutOff(), false, n, pace{}}, 0},
		{task{"fold and deltas, mix A (messages), 1M pairs, fan-out off", posts, fanoutOff(), false, n / 4, pace{}}, 0},
		{task{"fold alone, mix C (direct messages), 500k pairs", pairs, projections.DefaultSettings(), true, n / 2, pace{}}, 0},
		{task{"fold and deltas, mix C, fan-out 50", pairs, projections.DefaultSettings(), false, n / 2, pace{}}, 0},
	} {
		r, allocs, err := foldRun(t.task)
		if err != nil {
			return out, fmt.Errorf("%s: %w", t.name, err)
		}
		if t.cpu > 0 {
			r.Goals = []gauge.Goal{gauge.AtMost("cpu-s/Mev", r.CPU, t.cpu), gauge.AtMost("allocations an event", allocs, 0.5)}
		}
		out = append(out, r)
		debug.FreeOSMemory()
	}
	return out, nil
}

// Scale measures how the cost of the fold grows with its state. It folds into 10,000 to 5 million
// pairs, at the pace of a node and with equal work per event, and into channels of 2 to 100,000
// members with the same number of pairs.
//
// At the pace of a node, few pairs cost less for two reasons: they fit into the CPU's caches, and
// there is less work, because many reads of a pair make one delta and many changes of a page make
// one write. With equal work each event has its own delta, and each page write covers the same
// number of events, so only the effect of memory remains.
func Scale(context.Context) ([]gauge.Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	var pairs, equal, members []task
	for _, channels := range []int{200, 20_000, 100_000} {
		mix := traffic.Mixes["B"]
		mix.Channels = channels
		pairs = append(pairs, task{fmt.Sprintf("fold and deltas, mix B, fan-out off, %d pairs", channels*mix.Members), mix, fanoutOff(), false, 1_500_000, pace{}})
		equal = append(equal, task{fmt.Sprintf("the same with equal work for each event, %d pairs", channels*mix.Members), mix, fanoutOff(), false, 3_000_000, equalPace(mix)})
	}
	for _, c := range []struct{ channels, members int }{{50_000, 2}, {100, 1_000}, {1, 100_000}} {
		mix := traffic.Mix{Name: "M", Channels: c.channels, Members: c.members, Users: 100_000, Seed: 9}
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

// compare runs tasks. The last one should cost at most `times` as much as the first.
func compare(tasks []task, times float64) (out []gauge.Result, err error) {
	for i, t := range tasks {
		r, _, err := foldRun(t)
		if err != nil {
			return out, fmt.Errorf("%s: %w", t.name, err)
		}
		out = append(out, r)
		if i == len(tasks)-1 {
			out[i].Goals = []gauge.Goal{gauge.AtMost("times the first", r.CPU/out[0].CPU, times)}
		}
		debug.FreeOSMemory()
	}
	return out, nil
}
