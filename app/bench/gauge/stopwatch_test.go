package gauge

import (
	"math"
	"sync"
	"testing"
	"time"
)

// Quantiles are exact to a step: 20 us below 2 s, 100 ms above, and the largest is exact.
func TestStopwatch(t *testing.T) {
	var s Stopwatch
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := g; i < 1000; i += 4 {
				s.Add(time.Duration(i+1) * time.Millisecond)
			}
		})
	}
	wg.Wait()
	s.Add(-time.Second) // as after the clock was set back
	s.Add(5*time.Second + 30*time.Millisecond)
	got := s.Read()
	near := func(name string, got, want, step float64) {
		if math.Abs(got-want) > step {
			t.Errorf("%s is %v ms, want %v within %v", name, got, want, step)
		}
	}
	if got.N != 1002 {
		t.Errorf("%d durations, want 1002", got.N)
	}
	near("p50", got.P50, 501, 1.1)
	near("p99", got.P99, 991, 1.1)
	near("p99.9", got.P999, 1000, 1.1)
	near("the largest", got.Largest, 5030, 0)
	s.Add(20 * time.Hour) // beyond the scale
	if got := s.Read(); got.N != 1003 || got.Largest != 20*3600*1000 {
		t.Errorf("with 20 h %+v", got)
	}
	s.Reset()
	if got := s.Read(); got != (Spread{}) {
		t.Errorf("after a reset %+v", got)
	}
}

func TestQuantiles(t *testing.T) {
	var d []time.Duration
	for i := range 200 {
		d = append(d, time.Duration(200-i)*time.Millisecond)
	}
	if p50, p99, largest := Quantiles(d); p50 != 101 || p99 != 199 || largest != 200 {
		t.Errorf("p50 %v, p99 %v, largest %v", p50, p99, largest)
	}
}
