package gauge

import (
	"syscall"
	"time"
)

// SelfCPU returns the CPU time that this process has used.
func SelfCPU() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	// A Filetime counts units of 100 ns, in two halves.
	units := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 + int64(t.LowDateTime) }
	return time.Duration(units(kernel)+units(user)) * 100
}
