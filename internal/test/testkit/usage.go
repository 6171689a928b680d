package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Usage has the resources of this process.
type Usage struct {
	Goroutines  int
	Descriptors int   // open files and sockets; -1 if the system does not report it
	Heap        int64 // bytes of Go objects after a collection
	Resident    int64 // bytes of memory, of C too; -1 if the system does not report it, or with the race detector
}

// String returns the usage in one line.
func (u Usage) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %.1f MiB of heap, %.1f MiB resident", u.Goroutines, u.Descriptors,
		float64(u.Heap)/(1<<20), float64(u.Resident)/(1<<20))
}

// Within describes by how much u exceeds limit; "" if it does not.
func (u Usage) Within(limit Usage) string {
	var over []string
	for _, c := range []struct {
		what     string
		got, max int64
	}{
		{"goroutines", int64(u.Goroutines), int64(limit.Goroutines)}, {"descriptors", int64(u.Descriptors), int64(limit.Descriptors)},
		{"bytes of heap", u.Heap, limit.Heap}, {"resident bytes", u.Resident, limit.Resident},
	} {
		if c.got > c.max {
			over = append(over, fmt.Sprintf("%d %s, want at most %d", c.got, c.what, c.max))
		}
	}
	return strings.Join(over, "; ")
}

// plus adds the fields of two usages.
func (u Usage) plus(v Usage) Usage {
	return Usage{u.Goroutines + v.Goroutines, u.Descriptors + v.Descriptors, u.Heap + v.Heap, u.Resident + v.Resident}
}

// CurrentUsage collects garbage and returns the usage of this process.
func CurrentUsage(t testing.TB) Usage {
	t.Helper()
	runtime.GC()
	debug.FreeOSMemory() // collects what finalizers released, and returns free memory to the system
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := Usage{Goroutines: runtime.NumGoroutine(), Descriptors: -1, Heap: int64(m.HeapAlloc), Resident: -1}
	if fds, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.Descriptors = len(fds) - 1 // that of the directory itself
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("open files: %v", err)
	}
	if statm, err := os.ReadFile("/proc/self/statm"); err == nil && !RaceDetector {
		fields := strings.Fields(string(statm))
		pages, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			t.Fatalf("/proc/self/statm: %v", err)
		}
		u.Resident = pages * int64(os.Getpagesize())
	}
	return u
}

// settleTimeout is how long NoGrowth waits for a usage to fall: connections and goroutines end a
// little after they were closed.
const settleTimeout = 30 * time.Second

// NoGrowth runs half twice and fails if the usage after the second run exceeds that after the first
// run by more than slack. Resources that leak with every call grow in both runs; those that are
// made once, or kept for reuse, do not. slack should be far below the leak of half if one in ten of
// its calls leaked.
func NoGrowth(t testing.TB, slack Usage, half func()) {
	t.Helper()
	noGrowth(t, slack, settleTimeout, half)
}

func noGrowth(t testing.TB, slack Usage, patience time.Duration, half func()) {
	t.Helper()
	half()
	first := CurrentUsage(t)
	half()
	limit := first.plus(slack)
	deadline := time.Now().Add(patience)
	for {
		second := CurrentUsage(t)
		over := second.Within(limit)
		if over == "" {
			t.Logf("after the first half %s; after the second %s", first, second)
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("the process grows: %s\nafter the first half:  %s\nafter the second half: %s\n%s", over, first, second, goroutines())
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// goroutines returns the stacks of all goroutines, with the number of each.
func goroutines() string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return err.Error()
	}
	const most = 8000
	return b.String()[:min(b.Len(), most)]
}
