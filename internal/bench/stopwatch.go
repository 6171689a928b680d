package bench

import (
	"sync/atomic"
	"time"
)

// stopwatch is durations that many goroutines add, to within 20 us up to 2 s and 100 ms above.
type stopwatch struct {
	fine    [100_000]atomic.Uint32
	coarse  [1000]atomic.Uint32
	largest atomic.Int64
}

const (
	finest   = 20 * time.Microsecond
	fineSpan = 100_000 * finest
	coarsest = 100 * time.Millisecond
)

// spread is what a stopwatch says, in milliseconds.
type spread struct {
	N                 int64
	P50, P99, Largest float64
}

func (s *stopwatch) add(d time.Duration) {
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

func (s *stopwatch) reset() {
	for i := range s.fine {
		s.fine[i].Store(0)
	}
	for i := range s.coarse {
		s.coarse[i].Store(0)
	}
	s.largest.Store(0)
}

func (s *stopwatch) read() (out spread) {
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
	out.P50, out.P99, out.Largest = at(out.N/2), at(out.N*99/100), millis(time.Duration(s.largest.Load()))
	return out
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
