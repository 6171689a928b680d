package partition

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// Cold measures a partition with 20 million pairs whose channels are nearly all cold: resident
// memory with the shares of --memory 1GiB, the cost of traffic to few channels and to all, and
// queries of cold channels. It must run in its own process.
func Cold(context.Context) (out []gauge.Result, err error) {
	if now, _ := gauge.Resident(); now == 0 {
		return nil, fmt.Errorf("resident memory cannot be measured on %s: run this bench on Linux", runtime.GOOS)
	}
	const limit = 1 << 30
	shares, err := config.PlanMemory(limit, 1)
	if err != nil {
		return nil, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(shares.Heap)))
	heap := int64(shares.Heap)
	mix, little := traffic.Mixes["G"], room{hot: int64(shares.Hot), cache: int64(shares.Cache), memtable: int64(shares.MemTable)}
	small, err := openCold(mix, little)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.close()) }()
	few, all := mix, mix
	few.Channels /= 100
	all.Uniform, all.Reads = true, 1 // so that nearly every message is in another channel
	g := traffic.New(few)
	fewCost, err := small.cost(g, few, coldEvents, heap, nil)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	resident, largest := gauge.Resident()
	s := small.d.p.Stats()
	alone, err := small.ask(mix, func(asked int) bool { return asked < 1000 })
	if err != nil {
		return nil, err
	}
	beside, err := small.askBeside(mix, g, few, heap)
	if err != nil {
		return nil, err
	}
	allCost, err := small.cost(nil, all, coldEvents/4, heap, nil)
	if err != nil {
		return nil, err
	}
	debug.FreeOSMemory()
	crowded, _ := gauge.Resident()
	again := small.d.p.Stats()
	opened, listed, err := small.reopen(little)
	if err != nil {
		return nil, err
	}
	heap = 1 << 40
	debug.SetMemoryLimit(heap)
	large, err := openCold(mix, room{cache: everything.cache, memtable: little.memtable}) // memtables of more than 16 MiB no node has
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, large.close()) }()
	fewBase, err := large.cost(nil, few, coldEvents, heap, nil)
	if err != nil {
		return nil, err
	}
	allBase, err := large.cost(nil, all, coldEvents/4, heap, nil)
	if err != nil {
		return nil, err
	}
	return []gauge.Result{{
		Name: fmt.Sprintf("%d pairs with --memory 1GiB", s.Pairs),
		Goals: []gauge.Goal{
			gauge.AtMost("MiB resident", float64(resident>>20), 1229),
			gauge.AtMost("s to open it", opened.Seconds(), 2),
			gauge.AtMost("times the cost of everything in memory, traffic to 1 % of the channels", fewCost/fewBase, 1.2),
			gauge.AtMost("times the cost, traffic to all channels at random", allCost/allBase, 6),
			gauge.AtMost("ms, GetUnread of a cold channel, p99", p99(alone.one), 3),
			gauge.AtMost("ms, the cold channels of a user, p99", p99(alone.inbox), 10),
			gauge.AtMost("ms, GetUnread of a cold channel beside the traffic to 1 %, p99", p99(beside.one), 3),
			gauge.AtMost("ms, the cold channels of a user beside it, p99", p99(beside.inbox), 10),
		},
		Note: fmt.Sprintf("%d of %d channels cold, %d MiB of hot state; %.2f and %.2f cpu-s/Mev, %.2f and %.2f with everything in memory; %d channels came back; "+
			"%d MiB resident after traffic to all; largest %d MiB, with the bench's own records; %d users asked beside traffic; %.1f s to open it and to list its cold channels",
			s.ColdChannels, s.Channels, s.HotBytes>>20, fewCost, allCost, fewBase, allBase, again.Loaded, crowded>>20, largest>>20, len(beside.inbox), listed.Seconds()),
	}}, nil
}

const coldEvents = 2_000_000

// coldPart is a partition with joined channels, in a directory of its own.
type coldPart struct {
	d   *driver
	dir string
}

func openCold(mix traffic.Mix, r room) (*coldPart, error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	d, err := openWith(filepath.Join(dir, "store"), projections.DefaultSettings(), r)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &coldPart{d, dir}
	if err := d.join(traffic.New(mix)); err != nil {
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
// without the events and their generator. cost calls ready, if not nil, when it begins to fold.
func (p *coldPart) cost(g *traffic.Generator, mix traffic.Mix, n int, heap int64, ready func()) (float64, error) {
	before := inHeap()
	if g == nil {
		g = traffic.New(mix)
	}
	first, recs := records(g.Next, n/4), records(g.Next, n)
	debug.SetMemoryLimit(heap + max(inHeap()-before, 0))
	defer debug.SetMemoryLimit(heap)
	if ready != nil {
		ready()
	}
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

// inHeap returns the memory of everything that is in use in the heap.
func inHeap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// answers is how long queries took: of one cold channel, and of all cold channels of a user.
type answers struct{ one, inbox []time.Duration }

func p99(of []time.Duration) float64 {
	_, p99, _ := gauge.Quantiles(of)
	return p99
}

// askBeside asks every 5 ms while the next events of g, which makes those of a mix, are folded as fast
// as it goes.
func (p *coldPart) askBeside(mix traffic.Mix, g *traffic.Generator, of traffic.Mix, heap int64) (*answers, error) {
	var a answers
	var over atomic.Bool
	done := make(chan error, 1)
	begun := false
	_, err := p.cost(g, of, coldEvents, heap, func() {
		begun = true
		go func() {
			asked, err := p.ask(mix, func(int) bool {
				time.Sleep(5 * time.Millisecond)
				return !over.Load()
			})
			if err == nil {
				a = *asked
			}
			done <- err
		}()
	})
	over.Store(true)
	if begun {
		err = errors.Join(err, <-done)
	}
	return &a, err
}

// ask asks for random channels and users while more returns true for the number of those asked.
func (p *coldPart) ask(mix traffic.Mix, more func(asked int) bool) (*answers, error) {
	a := &answers{}
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // of this bench alone
	timed := func(begin func() *projections.ColdRead, ask func(*projections.Partition)) (time.Duration, error) {
		t0 := time.Now()
		p.d.p.RLock()
		read := begin()
		p.d.p.RUnlock()
		if read == nil {
			return 0, nil
		}
		defer read.Close()
		part, err := read.Load()
		if err == nil {
			ask(part)
		}
		return time.Since(t0), err
	}
	for asked := 0; more(asked); asked++ {
		channel := r.IntN(mix.Channels)
		id, user := traffic.ChannelID(channel), traffic.UserID(mix.Member(channel, 0))
		took, err := timed(func() *projections.ColdRead { return p.d.p.ColdChannel(id) }, func(part *projections.Partition) { part.View(user, id) })
		if err != nil {
			return nil, err
		}
		if took > 0 {
			a.one = append(a.one, took)
		}
		took, err = timed(func() *projections.ColdRead { return p.d.p.ColdOf(user) }, func(part *projections.Partition) {
			_ = part.Inbox(user, func(*projections.InboxEntry) bool { return true })
		})
		if err != nil {
			return nil, err
		}
		if took > 0 {
			a.inbox = append(a.inbox, took)
		}
	}
	return a, nil
}
