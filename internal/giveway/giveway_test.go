package giveway

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestCore: a goroutine that waits for the only core runs, although the one that calls Core does not
// wait for it.
func TestCore(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 100 {
		var ran atomic.Bool
		go ran.Store(true)
		for range 100 { // its timer may end at once
			if Core(); ran.Load() {
				break
			}
		}
		if !ran.Load() {
			t.Fatal("a goroutine that waits for the core did not run")
		}
	}
}

// TestThread: Thread returns although no other thread waits.
func TestThread(t *testing.T) {
	for range 1000 {
		Thread()
	}
}
