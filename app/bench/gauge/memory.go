package gauge

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Resident returns the resident memory of this process in bytes, now and at its peak; zeros where
// there is no /proc, which is everywhere but on Linux.
func Resident() (now, largest int64) { return resident("self") }

// ResidentOf is Resident for another process. It returns zeros if there is none.
func ResidentOf(pid int) (now, largest int64) { return resident(strconv.Itoa(pid)) }

func resident(process string) (now, largest int64) {
	b, err := os.ReadFile("/proc/" + process + "/status")
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

// InUse returns the size of the live heap and of the stacks, in bytes.
func InUse() float64 {
	runtime.GC()
	runtime.GC() // frees what finalizers and pools kept alive
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc + m.StackInuse)
}

// WatchMemory samples the memory of this process until the caller calls peak. peak returns the
// largest resident memory and the largest heap, in bytes.
func WatchMemory() (peak func() (resident, heap float64)) {
	var mostResident, mostHeap float64
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	sample := func() {
		now, _ := Resident()
		metrics.Read(heap)
		mostResident, mostHeap = max(mostResident, float64(now)), max(mostHeap, float64(heap[0].Value.Uint64()))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for {
			sample()
			select {
			case <-ticks.C:
			case <-stop:
				return
			}
		}
	})
	return func() (float64, float64) {
		close(stop)
		wg.Wait()
		sample()
		return mostResident, mostHeap
	}
}

// LongestPause returns the longest pause of the garbage collector so far, rounded up to a bucket of
// the runtime's histogram.
func LongestPause() time.Duration {
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
