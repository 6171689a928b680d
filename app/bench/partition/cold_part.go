package partition

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// coldPart is a partition with joined channels, in a directory of its own. Those with a heavy user
// have a message.
type coldPart struct {
	d   *driver
	dir string
}

func openCold(mix traffic.Mix, settings projections.Settings, r room) (*coldPart, error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	d, err := openWith(filepath.Join(dir, "store"), settings, r)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &coldPart{d, dir}
	g, channel := traffic.New(mix), 0
	err = d.begin(func(emit func(*traffic.Event)) {
		g.Joins(func(e *traffic.Event) {
			emit(e)
			if mix.HasHeavy(channel) {
				m := g.Message(channel)
				emit(&m)
			}
			channel++
		})
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *coldPart) close() (err error) {
	if p.d != nil {
		err = p.d.close()
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}

// reopen closes the partition and returns how long it takes to open it, and until its cold channels
// are listed.
func (p *coldPart) reopen(r room) (opened, listed time.Duration, err error) {
	was := p.d
	p.d = nil
	if err := was.close(); err != nil {
		return 0, 0, err
	}
	runtime.GC()
	t0 := time.Now()
	r.later = true
	d, err := openWith(filepath.Join(p.dir, "store"), projections.DefaultSettings(), r)
	if err != nil {
		return 0, 0, err
	}
	p.d = d
	opened = time.Since(t0)
	for more := true; more && err == nil; {
		more, err = d.p.List(1024)
	}
	return opened, time.Since(t0), err
}

// cost returns the CPU seconds of a million events of a mix, after a quarter as many for a steady
// state. g continues an earlier run of the mix; nil begins one. heap is the memory limit of the heap
// without the events and their generator.
func (p *coldPart) cost(g *traffic.Generator, mix traffic.Mix, n int, heap int64) (float64, error) {
	var first, recs []record
	defer aside(heap, func() {
		if g == nil {
			g = traffic.New(mix)
		}
		first, recs = records(g.Next, n/4), records(g.Next, n)
	})()
	if err := p.d.foldAll(first); err != nil {
		return 0, err
	}
	runtime.GC()
	m := &gauge.Meter{}
	m.Start()
	if err := p.d.foldAll(recs); err != nil {
		return 0, err
	}
	r := m.Stop("", n)
	runtime.KeepAlive(first) // as the limit assumes
	runtime.KeepAlive(g)
	return r.CPU, nil
}

// mean returns the mean of three calls of cost with n events of g each, in CPU seconds of a million
// events. One call would be too short to include compactions.
func (p *coldPart) mean(g *traffic.Generator, mix traffic.Mix, n int, heap int64) (mean float64, err error) {
	const times = 3
	for range times {
		cost, err := p.cost(g, mix, n, heap)
		if err != nil {
			return 0, err
		}
		mean += cost / times
	}
	return mean, nil
}

// foldBeside folds the next n events of a load. It drains and cuts as often as a node with a load of
// that rate, and calls ready when it begins.
func (p *coldPart) foldBeside(l load, n int, heap int64, ready func()) error {
	const drains, cuts = 100, 1 // a second
	var recs []record
	g := l.g
	defer aside(heap, func() {
		if g == nil {
			g = traffic.New(l.mix)
		}
		recs = records(g.Next, n)
	})()
	ready()
	began := time.Now()
	step := n
	if l.rate > 0 {
		step = max(l.rate/drains, 1)
	}
	for from, turn := 0, 1; from < n; turn++ {
		if l.rate > 0 {
			time.Sleep(time.Until(began.Add(time.Duration(turn) * time.Second / drains)))
		}
		to := min(from+step, n)
		if err := p.d.foldAll(recs[from:to]); err != nil {
			return err
		}
		if turn%(drains/cuts) == 0 {
			if err := p.d.cutNow(); err != nil {
				return err
			}
		}
		from = to
	}
	runtime.KeepAlive(recs) // as the limit assumes
	runtime.KeepAlive(g)
	return nil
}

// aside raises the memory limit of the heap by the memory of what fill makes. restore sets it to heap
// again.
func aside(heap int64, fill func()) (restore func()) {
	before := gauge.InUse()
	fill()
	debug.SetMemoryLimit(heap + int64(max(gauge.InUse()-before, 0)))
	return func() { debug.SetMemoryLimit(heap) }
}
