package giveway

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// TestCore: Core lets a goroutine run that waits for the only core.
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
