package partition

import (
	"context"
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
// garbage collector, and disk after compaction. It must run in its own process.
func Memory(context.Context) ([]gauge.Result, error) {
	if now, _ := gauge.Resident(); now == 0 {
		return nil, fmt.Errorf("resident memory cannot be measured on %s: run this bench on Linux", runtime.GOOS)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
	dir, err := os.MkdirTemp("", "tidemark-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store := filepath.Join(dir, "store")
	shares, err := config.PlanMemory(2<<30, 1)
	if err != nil {
		return nil, err
	}
	d, err := openWith(store, projections.DefaultSettings(), room{cache: int64(shares.Cache), memtable: int64(shares.MemTable)})
	if err != nil {
		return nil, err
	}
	d.pace.bytes = int64(shares.Dirty)
	mix := traffic.Mixes["B"]
	mix.Channels = 100_000
	g := traffic.New(mix)
	if err := d.join(g); err != nil {
		return nil, err
	}
	for range 20 { // in parts, so that the bench's own records take little memory
		if err := d.foldAll(records(g.Next, 50_000)); err != nil {
			return nil, err
		}
	}
	d.deltas = projections.Deltas{}
	debug.FreeOSMemory() // returns the memory of the bench itself
	pairs := d.p.Stats().Pairs
	hot := d.p.Stats().HotBytes
	resident, largest := gauge.Resident()
	pause := gauge.LongestPause()
	if err := d.cutNow(); err != nil {
		return nil, err
	}
	if err := d.close(); err != nil {
		return nil, err
	}
	disk, err := compacted(store)
	if err != nil {
		return nil, err
	}
	perPair := func(bytes int64) float64 { return float64(bytes) / float64(pairs) }
	return []gauge.Result{{
		Name: fmt.Sprintf("memory and disk, %d pairs, 1M events", pairs),
		Goals: []gauge.Goal{
			gauge.AtMost("MiB resident", float64(resident>>20), 500),
			gauge.AtMost("bytes of disk a pair after compaction", perPair(disk), 40),
			gauge.AtMost("ms, the longest GC pause", float64(pause.Microseconds())/1e3, 5),
		},
		Note: fmt.Sprintf("%.0f bytes a pair, %.0f of them hot state; largest while it ran %d MiB, with the bench's own records",
			perPair(resident), perPair(hot), largest>>20),
	}}, nil
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
