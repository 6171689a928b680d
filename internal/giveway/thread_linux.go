package giveway

import "syscall"

func yield() syscall.Errno {
	_, _, err := syscall.Syscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
	return err
}
