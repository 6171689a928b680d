package gauge

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stopwatch collects durations from many goroutines, in steps of 20 us up to 2 s and of 100 ms
// above.
type Stopwatch struct {
	fine    [100_000]atomic.Uint32
	coarse  [1000]atomic.Uint32
	largest atomic.Int64
}

const (
	finest   = 20 * time.Microsecond
	fineSpan = 100_000 * finest
	coarsest = 100 * time.Millisecond
)

// Spread is the distribution of the durations in a Stopwatch, in milliseconds.
type Spread struct {
	N                       int64
	P50, P99, P999, Largest float64
}

// Add counts a duration.
func (s *Stopwatch) Add(d time.Duration) {
	d = max(d, 0)
	if d < fineSpan {
		s.fine[d/finest].Add(1)
	} else {
		s.coarse[min(int(d/coarsest), len(s.coarse)-1)].Add(1)
	}
	for old := s.largest.Load(); int64(d) > old && !s.largest.CompareAndSwap(old, int64(d)); old = s.largest.Load() {
		continue
	}
}

// Reset forgets all durations.
func (s *Stopwatch) Reset() {
	for i := range s.fine {
		s.fine[i].Store(0)
	}
	for i := range s.coarse {
		s.coarse[i].Store(0)
	}
	s.largest.Store(0)
}

// Read returns the distribution of all durations since Reset.
func (s *Stopwatch) Read() (out Spread) {
	for i := range s.fine {
		out.N += int64(s.fine[i].Load())
	}
	for i := range s.coarse {
		out.N += int64(s.coarse[i].Load())
	}
	if out.N == 0 {
		return out
	}
	at := func(rank int64) float64 {
		for i := range s.fine {
			if rank -= int64(s.fine[i].Load()); rank < 0 {
				return millis(time.Duration(i+1) * finest)
			}
		}
		for i := range s.coarse {
			if rank -= int64(s.coarse[i].Load()); rank < 0 {
				return millis(time.Duration(i+1) * coarsest)
			}
		}
		return 0
	}
	out.P50, out.P99, out.P999 = at(out.N/2), at(out.N*99/100), at(out.N*999/1000)
	out.Largest = millis(time.Duration(s.largest.Load()))
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// Quantiles sorts d and returns its median, 99th percentile and largest, in milliseconds.
func Quantiles(d []time.Duration) (p50, p99, largest float64) {
	slices.Sort(d)
	at := func(i int) float64 { return float64(d[min(len(d)-1, i)].Microseconds()) / 1e3 }
	return at(len(d) / 2), at(len(d) * 99 / 100), at(len(d) - 1)
}
