//go:build !linux

package gauge

import "time"

// ThreadTime returns 0: only Linux counts the CPU time of a thread.
func ThreadTime() time.Duration { return 0 }
