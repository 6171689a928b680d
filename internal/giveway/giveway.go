// Package giveway lets long computations give up the CPU, so that short queries need not wait for
// them. Go may run a goroutine for 10 ms before it runs another.
package giveway

import (
	"runtime"
	"time"
)

// Core lets other goroutines use this core. It sleeps for 20 us, or up to 1 ms if the core is idle. Use
// it where such delays do no harm. On other systems than Linux, it only calls runtime.Gosched.
func Core() {
	if runtime.GOOS == "linux" {
		time.Sleep(20 * time.Microsecond)
	} else {
		runtime.Gosched()
	}
}
