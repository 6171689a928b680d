package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/projections"
)

// folder drives one partition as the processor does.
type folder struct {
	p        *projections.Partition
	cache    *pebble.Cache
	dec      events.Decoder
	messages [256]events.Message
	reads    [256]events.Read
	warmM    []*events.Message
	warmR    []*events.Read
	deltas   projections.Deltas
	offsets  [2]int64

	decode, fold, drain, cut, apply time.Duration
	deltasOut                       int
}

func openFolder(dir string, s projections.Settings) (*folder, error) {
	id := projections.Identity{ClusterID: "bench", Partitions: 1, Settings: s}
	for i, name := range events.InputTopics {
		id.Topics[i].Name = name
	}
	const memtable = 32 << 20
	f := &folder{cache: pebble.NewCache(128<<20 + 2*memtable)}
	var err error
	f.p, err = projections.Open(dir, id, projections.Options{Cache: f.cache, MemTableSize: memtable})
	return f, err
}

func (f *folder) close() error {
	defer f.cache.Unref()
	return f.p.Close()
}

// foldAll folds records in batches of 256, drains every 10,000 and cuts every 300,000.
func (f *folder) foldAll(recs []record) error {
	for from := 0; from < len(recs); from += 256 {
		part := recs[from:min(from+256, len(recs))]
		t0 := time.Now()
		f.warmM, f.warmR = f.warmM[:0], f.warmR[:0]
		for i := range part {
			var err error
			if part[i].read {
				err = f.dec.Read(part[i].value, part[i].millis, &f.reads[i])
				f.warmR = append(f.warmR, &f.reads[i])
			} else {
				err = f.dec.Message(part[i].value, part[i].millis, &f.messages[i])
				f.warmM = append(f.warmM, &f.messages[i])
			}
			if err != nil {
				return err
			}
		}
		t1 := time.Now()
		f.decode += t1.Sub(t0)
		f.p.Lock()
		f.p.Warm(f.warmM, f.warmR)
		for i := range part {
			if part[i].read {
				f.p.FoldRead(&f.reads[i], f.offsets[1], part[i].millis)
				f.offsets[1]++
			} else {
				f.p.FoldMessage(&f.messages[i], f.offsets[0], part[i].millis)
				f.offsets[0]++
			}
		}
		f.p.Unlock()
		f.fold += time.Since(t1)
		if before := from / 10_000; (from+256)/10_000 != before {
			f.drainNow()
		}
		if before := from / 300_000; (from+256)/300_000 != before {
			if err := f.cutNow(); err != nil {
				return err
			}
		}
	}
	f.drainNow()
	return f.p.Err()
}

func (f *folder) drainNow() {
	t0 := time.Now()
	f.p.Lock()
	f.deltas.Reset()
	f.p.Drain(&f.deltas, true)
	f.p.Unlock()
	f.deltasOut += len(f.deltas.Records)
	f.drain += time.Since(t0)
}

func (f *folder) cutNow() error {
	t0 := time.Now()
	f.p.Lock()
	c, err := f.p.Cut()
	f.p.Unlock()
	if err != nil {
		return err
	}
	t1 := time.Now()
	f.cut += t1.Sub(t0)
	err = c.Apply()
	f.apply += time.Since(t1)
	return err
}

type record struct {
	value  []byte
	millis int64
	read   bool
}

// records are the next n events of a generator, in one piece of memory.
func records(g *load.Generator, n int) []record {
	var arena []byte
	recs := make([]record, 0, n)
	ends := make([]int, 0, n)
	for range n {
		e := g.Next()
		arena = append(arena, e.Value...)
		ends = append(ends, len(arena))
		recs = append(recs, record{millis: e.Millis, read: e.Read})
	}
	at := 0
	for i, end := range ends {
		recs[i].value = arena[at:end:end]
		at = end
	}
	return recs
}

// join folds the joins of a mix.
func (f *folder) join(g *load.Generator) (err error) {
	var m events.Message
	n := 0
	g.Joins(func(e *load.Event) {
		if err != nil {
			return
		}
		if err = f.dec.Message(e.Value, e.Millis, &m); err != nil {
			return
		}
		f.p.FoldMessage(&m, f.offsets[0], e.Millis)
		f.offsets[0]++
		if n++; n%2_000 == 0 {
			f.drainNow()
			err = f.cutNow()
		}
	})
	f.drainNow()
	if err == nil {
		err = f.cutNow()
	}
	f.deltasOut = 0
	return err
}

// foldRun folds n events of a mix over its joined channels.
func foldRun(name string, mix load.Mix, s projections.Settings, n int) (_ Result, err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir)
	f, err := openFolder(filepath.Join(dir, "store"), s)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	g := load.New(mix)
	if err := f.join(g); err != nil {
		return Result{}, err
	}
	if err := f.foldAll(records(g, n/4)); err != nil { // to a steady state
		return Result{}, err
	}
	recs := records(g, n)
	runtime.GC()
	f.decode, f.fold, f.drain, f.cut, f.apply, f.deltasOut = 0, 0, 0, 0, 0, 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := &meter{}
	m.start()
	if err := f.foldAll(recs); err != nil {
		return Result{}, err
	}
	r := m.stop(name, n)
	runtime.ReadMemStats(&after)
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(n) }
	r.Note = fmt.Sprintf("us an event: decode %.2f, fold %.2f, drain %.2f, cut %.2f, apply %.2f; %.2f allocations and %.2f deltas an event; %d pairs",
		us(f.decode), us(f.fold), us(f.drain), us(f.cut), us(f.apply),
		float64(after.Mallocs-before.Mallocs)/float64(n), float64(f.deltasOut)/float64(n), f.p.Stats().Pairs)
	return r, nil
}

func fanoutOff() projections.Settings {
	s := projections.DefaultSettings()
	s.FanoutLimit = 0
	return s
}

// Fold measures the fold alone: encoded records in memory, through decoding, folding, draining, digest and the store
// that is written behind.
func Fold(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	mix := load.Mixes["B"]
	mix.Channels = 20_000
	var out []Result
	for _, c := range []struct {
		name string
		s    projections.Settings
	}{
		{"fold alone, mix B, 1M pairs, fan-out off", fanoutOff()},
		{"fold alone, mix B, 1M pairs", projections.DefaultSettings()},
	} {
		r, err := foldRun(c.name, mix, c.s, 2_000_000)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Scale measures what the cost does as state grows: 10,000 to 5 million pairs, and channels of 2 to 100,000 members.
func Scale(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	var out []Result
	var first float64
	for _, channels := range []int{200, 20_000, 100_000} {
		mix := load.Mixes["B"]
		mix.Channels = channels
		r, err := foldRun(fmt.Sprintf("mix B, fan-out off, %d pairs", channels*mix.Members), mix, fanoutOff(), 1_500_000)
		if err != nil {
			return out, err
		}
		if first == 0 {
			first = r.CPU
		}
		r.Note = fmt.Sprintf("%.2f times the first; %s", r.CPU/first, r.Note)
		out = append(out, r)
		debug.FreeOSMemory()
	}
	first = 0
	for _, c := range []struct{ channels, members int }{{50_000, 2}, {100, 1_000}, {1, 100_000}} {
		mix := load.Mix{Name: "M", Channels: c.channels + 1, Members: c.members, Users: 100_000, Seed: 9}
		r, err := foldRun(fmt.Sprintf("messages into %d members, fan-out off", c.members), mix, fanoutOff(), 400_000)
		if err != nil {
			return out, err
		}
		if first == 0 {
			first = r.CPU
		}
		r.Note = fmt.Sprintf("%.2f times the first; %s", r.CPU/first, r.Note)
		out = append(out, r)
	}
	return out, nil
}

// Memory measures what 5 million pairs take: resident memory of this process, pauses of the garbage collector, and disk
// after compaction. It must run in a process of its own.
func Memory(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	f, err := openFolder(store, projections.DefaultSettings())
	if err != nil {
		return nil, err
	}
	mix := load.Mixes["B"]
	mix.Channels = 100_000
	g := load.New(mix)
	if err := f.join(g); err != nil {
		return nil, err
	}
	for range 4 {
		if err := f.foldAll(records(g, 250_000)); err != nil {
			return nil, err
		}
	}
	f.deltas = projections.Deltas{}
	debug.FreeOSMemory()
	pairs := f.p.Stats().Pairs
	hot := f.p.Stats().HotBytes
	resident := rss()
	pause := longestPause()
	if err := f.cutNow(); err != nil {
		return nil, err
	}
	if err := f.close(); err != nil {
		return nil, err
	}
	disk, err := compacted(store)
	if err != nil {
		return nil, err
	}
	return []Result{{
		Name: fmt.Sprintf("memory and disk, %d pairs, 1M events", pairs),
		Note: fmt.Sprintf("resident %d MiB (%.0f bytes a pair; hot state %d MiB), longest GC pause %v, disk %.1f bytes a pair after compaction",
			resident>>20, float64(resident)/float64(pairs), hot>>20, pause, float64(disk)/float64(pairs)),
	}}, nil
}

// rss is the resident memory of this process in bytes.
func rss() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(strings.TrimSpace(string(b)), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// longestPause is the longest stop of the world so far, rounded up to its histogram's bucket.
func longestPause() time.Duration {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := s[0].Value.Float64Histogram()
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if h.Counts[i] > 0 {
			return time.Duration(h.Buckets[min(i+1, len(h.Buckets)-1)] * 1e9)
		}
	}
	return 0
}

// compacted is the size of a store's files after a full compaction.
func compacted(dir string) (int64, error) {
	db, err := pebble.Open(dir, &pebble.Options{FormatMajorVersion: pebble.FormatNewest, Logger: pebbleQuiet{}})
	if err != nil {
		return 0, err
	}
	if err := db.Compact(context.Background(), []byte{0}, []byte{0xff}, true); err != nil {
		return 0, err
	}
	n, err := db.EstimateDiskUsage([]byte{0}, []byte{0xff})
	if err != nil {
		return 0, err
	}
	return int64(n), db.Close()
}

type pebbleQuiet struct{}

func (pebbleQuiet) Infof(string, ...any)         {}
func (pebbleQuiet) Errorf(string, ...any)        {}
func (pebbleQuiet) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }
