//go:build unix

package paths

import (
	"os"
	"syscall"
)

// written returns the bytes that an ended process has written to disk.
func written(p *os.ProcessState) int64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	const block = 512 // on Linux
	return u.Oublock * block
}
