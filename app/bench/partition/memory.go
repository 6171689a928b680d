package partition

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// Memory measures the cost of 5 million pairs: resident memory of this process, pauses of the
// garbage collector, and disk after compaction. Then it measures the hot state and the disk of 1
// million pairs, and what 2 and 20 million pairs take in memory once they are cold. It must run in
// its own process.
func Memory(ctx context.Context) (out []gauge.Result, err error) {
	if now, _ := gauge.Resident(); now == 0 {
		return nil, fmt.Errorf("resident memory cannot be measured on %s: run this bench on Linux", runtime.GOOS)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	for _, channels := range []int{100_000, 20_000} {
		r, err := memoryOf(channels)
		if err != nil {
			return out, err
		}
		if len(out) > 0 { // the process still has memory of the first
			r.Goals = r.Goals[1:2]
		}
		out = append(out, r)
		debug.FreeOSMemory()
	}
	for _, channels := range []int{100_000, 1_000_000} {
		for _, each := range []int{10, 1} {
			if err := ctx.Err(); err != nil {
				return out, err
			}
			r, err := coldPairs(channels, each)
			if err != nil {
				return out, err
			}
			out = append(out, r)
			debug.FreeOSMemory()
		}
	}
	return out, nil
}

// memoryOf measures channels of 50 members after an event for every fifth pair.
func memoryOf(channels int) (gauge.Result, error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return gauge.Result{}, err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	shares, err := config.PlanMemory(2<<30, 1)
	if err != nil {
		return gauge.Result{}, err
	}
	r := roomOf(shares)
	r.hot = 0 // all pairs stay
	d, err := openWith(store, projections.DefaultSettings(), r)
	if err != nil {
		return gauge.Result{}, err
	}
	d.pace.bytes = int64(shares.Dirty)
	mix := traffic.Mixes["B"]
	mix.Channels = channels
	g := traffic.New(mix)
	if err := d.join(g); err != nil {
		return gauge.Result{}, err
	}
	const parts = 20 // so that the bench's own records take little memory
	events := channels * mix.Members / 5
	for range parts {
		if err := d.foldAll(records(g.Next, events/parts)); err != nil {
			return gauge.Result{}, err
		}
	}
	d.deltas = projections.Deltas{}
	debug.FreeOSMemory() // returns the memory of the bench itself
	pairs := d.p.Stats().Pairs
	hot := d.p.Stats().HotBytes
	resident, largest := gauge.Resident()
	pause := gauge.LongestPause()
	if err := d.cutNow(); err != nil {
		return gauge.Result{}, err
	}
	if err := d.close(); err != nil {
		return gauge.Result{}, err
	}
	disk, err := compacted(store)
	if err != nil {
		return gauge.Result{}, err
	}
	perPair := func(bytes int64) float64 { return float64(bytes) / float64(pairs) }
	return gauge.Result{
		Name: fmt.Sprintf("memory and disk, %d pairs, %d events", pairs, events),
		Goals: []gauge.Goal{
			gauge.AtMost("MiB resident", float64(resident>>20), 500),
			gauge.AtMost("bytes of disk a pair after compaction", perPair(disk), 40),
			gauge.AtMost("ms, the longest GC pause", float64(pause.Microseconds())/1e3, 5),
		},
		Note: fmt.Sprintf("%.0f bytes a pair, %.0f of them hot state; largest while it ran %d MiB, with the bench's own records",
			perPair(resident), perPair(hot), largest>>20),
	}, nil
}

// coldPairs measures channels of 20 members that have all left memory. Each user is in `each` of
// them.
func coldPairs(channels, each int) (_ gauge.Result, err error) {
	mix := traffic.Mixes["G"]
	mix.Channels, mix.Users = channels, channels*mix.Members/each
	p, err := openCold(mix, projections.DefaultSettings(), room{hot: 1, cache: 64 << 20, memtable: 4 << 20})
	if err != nil {
		return gauge.Result{}, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	for range 2 { // a channel that an event has named since the last cut stays until the next
		if err := p.d.cutNow(); err != nil {
			return gauge.Result{}, err
		}
	}
	s := p.d.p.Stats()
	if s.ColdChannels != s.Channels {
		return gauge.Result{}, fmt.Errorf("%d of %d channels are cold", s.ColdChannels, s.Channels)
	}
	return gauge.Result{
		Name:  fmt.Sprintf("memory of %d cold pairs, %d of each user", s.Pairs, each),
		Goals: []gauge.Goal{gauge.AtMost("bytes a pair", float64(s.HotBytes)/float64(s.Pairs), 40)},
	}, nil
}

// compacted compacts a store fully and returns the size of its files.
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
