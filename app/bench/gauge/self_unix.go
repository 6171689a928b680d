//go:build unix

package gauge

import (
	"syscall"
	"time"
)

// SelfCPU returns the CPU time that this process has used.
func SelfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
