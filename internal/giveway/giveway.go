// Package giveway lets a goroutine that is seldom blocked give others their turn, so that a short query
// does not wait for a long computation where there are fewer cores than goroutines that compute. Go
// gives a goroutine 10 ms before another one runs, and the kernel a thread some milliseconds.
//
//	giveway.go       for which other goroutines and threads
//	thread_linux.go  giving way to a thread
//	thread_other.go  where that is not known
package giveway

import (
	"runtime"
	"time"
)

// Thread lets another thread run first that waits for the core of this one. It takes less than a
// microsecond if there is none. It does nothing where the kernel is not Linux.
func Thread() { yield() }

// Core leaves this core to other goroutines for a moment, of up to a millisecond if there are none. It
// is for work that may take longer. On a system whose timers are coarse it is runtime.Gosched.
func Core() {
	if runtime.GOOS == "linux" {
		time.Sleep(20 * time.Microsecond)
	} else {
		runtime.Gosched()
	}
}
