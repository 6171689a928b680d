//go:build unix

package servers

import (
	"errors"
	"os"
	"syscall"
)

const (
	pauseSignal  = syscall.SIGSTOP
	resumeSignal = syscall.SIGCONT
)

// ownGroup makes a process lead a group of its own.
func ownGroup() (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{Setpgid: true}, nil }

// signalGroup sends sig to a process and its descendants. It is not an error if the process has
// ended.
func signalGroup(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(-pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// lockExclusively waits for a lock on f, which the kernel drops when this process ends.
func lockExclusively(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
