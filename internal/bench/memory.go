package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/load"
	"github.com/tidemark/tidemark/projections"
)

// Memory measures what 5 million pairs take: resident memory of this process, pauses of the garbage collector, and disk
// after compaction. It must run in a process of its own.
func Memory(context.Context) ([]Result, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(config.GCPercent))
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
		if err := f.foldAll(records(g.Next, 250_000)); err != nil {
			return nil, err
		}
	}
	f.deltas = projections.Deltas{}
	debug.FreeOSMemory() // what the bench itself held
	pairs := f.p.Stats().Pairs
	hot := f.p.Stats().HotBytes
	resident, largest := resident()
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
	perPair := func(bytes int64) float64 { return float64(bytes) / float64(pairs) }
	return []Result{{
		Name: fmt.Sprintf("memory and disk, %d pairs, 1M events", pairs),
		Goals: []Goal{
			atMost("MiB resident", float64(resident>>20), 1024),
			atMost("bytes of disk a pair after compaction", perPair(disk), 40),
			atMost("ms, the longest GC pause", float64(pause.Microseconds())/1e3, 5),
		},
		Note: fmt.Sprintf("%.0f bytes a pair, %.0f of them hot state; largest while it ran %d MiB, with the bench's own records",
			perPair(resident), perPair(hot), largest>>20),
	}}, nil
}

// resident is the resident memory of this process in bytes, now and at its largest; 0 if it is not known.
func resident() (now, largest int64) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(b)) {
		var kib int64
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "VmRSS":
			if _, err := fmt.Sscan(value, &kib); err == nil {
				now = kib << 10
			}
		case "VmHWM":
			if _, err := fmt.Sscan(value, &kib); err == nil {
				largest = kib << 10
			}
		}
	}
	return now, largest
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
