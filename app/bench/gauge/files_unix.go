//go:build unix

package gauge

import (
	"fmt"
	"syscall"
)

// NeedFiles raises the limit of this process to n open files.
func NeedFiles(n uint64) error {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("the number of open files: %w", err)
	}
	if l.Cur >= n {
		return nil
	}
	l.Cur, l.Max = n, max(l.Max, n) // only root may raise the hard limit
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("%d open files are needed (%w): allow them with `ulimit -n %d`", n, err, n)
	}
	return nil
}
