// Package giveway lets long computations give up the CPU, so that short queries need not wait for
// them. Go may run a goroutine for 10 ms before it runs another. The kernel may run a thread for
// several milliseconds.
//
//	giveway.go       the two ways to give way
//	thread_linux.go  Thread on Linux
//	thread_other.go  Thread elsewhere, where it does nothing
package giveway

import (
	"runtime"
	"time"
)

// Thread lets another thread that waits for this core run first. If none waits, Thread takes less
// than a microsecond. It does nothing except on Linux.
func Thread() { yield() }

// Core lets other goroutines use this core. It sleeps for 20 us, or up to 1 ms if the core is idle. Use
// it where such delays do no harm. On other systems than Linux, it only calls runtime.Gosched.
func Core() {
	if runtime.GOOS == "linux" {
		time.Sleep(20 * time.Microsecond)
	} else {
		runtime.Gosched()
	}
}
