package bench

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidemark/tidemark/app/bench/gauge"
)

// holds records how long the locks of partitions were held, by cause.
type holds struct {
	mu sync.RWMutex
	by map[string]*holdTimes
}

// holdTimes has the holds of one cause: their duration and their CPU time. The difference is time
// that the machine gave to other threads and to the collector.
type holdTimes struct{ wall, cpu gauge.Stopwatch }

// on is the value of processor.Config.OnHold. It locks the goroutine to its thread during the hold,
// so that the hold's CPU time can be measured.
func (h *holds) on(cause string) (done func()) {
	x := h.of(cause)
	runtime.LockOSThread()
	cpu, began := gauge.ThreadTime(), time.Now()
	return func() {
		x.wall.Add(time.Since(began))
		x.cpu.Add(gauge.ThreadTime() - cpu)
		runtime.UnlockOSThread()
	}
}

func (h *holds) of(cause string) *holdTimes {
	h.mu.RLock()
	x := h.by[cause]
	h.mu.RUnlock()
	if x != nil {
		return x
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if x = h.by[cause]; x == nil {
		if h.by == nil {
			h.by = map[string]*holdTimes{}
		}
		x = &holdTimes{}
		h.by[cause] = x
	}
	return x
}

func (h *holds) reset() {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, x := range h.by {
		x.wall.Reset()
		x.cpu.Reset()
	}
}

// longestHold is the upper bound of a hold, in milliseconds.
const longestHold = 10

// results returns a line for each cause that held a lock since the last reset, the longest hold
// first.
func (h *holds) results(during string) []gauge.Result {
	h.mu.RLock()
	defer h.mu.RUnlock()
	type line struct {
		cause     string
		wall, cpu gauge.Spread
	}
	var lines []line
	for cause, x := range h.by {
		if l := (line{cause, x.wall.Read(), x.cpu.Read()}); l.wall.N > 0 {
			lines = append(lines, l)
		}
	}
	slices.SortFunc(lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(b.cpu.Largest, a.cpu.Largest), strings.Compare(a.cause, b.cause))
	})
	var out []gauge.Result
	for _, l := range lines {
		out = append(out, gauge.Result{
			Name: during + ": " + l.cause,
			Goals: []gauge.Goal{
				gauge.AtMost("ms, longest hold", l.wall.Largest, longestHold), gauge.AtMost("ms of CPU time, longest", l.cpu.Largest, longestHold),
			},
			Note: fmt.Sprintf("p50 %.2f ms, p99.9 %.2f ms; CPU time p99.9 %.2f ms; %d holds", l.wall.P50, l.wall.P999, l.cpu.P999, l.wall.N),
		})
	}
	return out
}
