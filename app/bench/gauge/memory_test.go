package gauge

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestResident(t *testing.T) {
	now, largest := Resident()
	if now < 1<<20 || largest < now {
		t.Fatalf("%d bytes resident, %d at most", now, largest)
	}
}

// The peak includes memory that was released before the end of the watch.
func TestWatchMemory(t *testing.T) {
	before, _ := Resident()
	peak := WatchMemory()
	big := make([]byte, 64<<20)
	for i := range big {
		big[i] = 1
	}
	time.Sleep(100 * time.Millisecond)
	runtime.KeepAlive(big)
	debug.FreeOSMemory()
	resident, heap := peak()
	if resident < float64(before)+48<<20 || heap < 64<<20 {
		t.Errorf("peak %.0f bytes resident, %.0f of heap; %d resident before", resident, heap, before)
	}
}

// Memory that finalizers kept alive does not count as in use.
func TestInUse(t *testing.T) {
	before := InUse()
	big := make([]byte, 32<<20)
	if with := InUse(); with < before+30<<20 {
		t.Errorf("%.0f bytes in use with 32 MiB more than %.0f", with, before)
	}
	runtime.KeepAlive(big)
	if after := InUse(); after > before+8<<20 {
		t.Errorf("%.0f bytes in use after the collection, %.0f before", after, before)
	}
}

func TestLongestPause(t *testing.T) {
	runtime.GC()
	if p := LongestPause(); p <= 0 || p > time.Minute {
		t.Errorf("the longest pause is %v", p)
	}
}
