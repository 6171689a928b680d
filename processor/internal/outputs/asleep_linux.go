package outputs

import (
	"time"

	"golang.org/x/sys/unix"
)

// asleep returns how long the machine has slept since it started: the difference between the clock
// that counts sleep and the one that does not.
func asleep() time.Duration {
	// A process that is stopped between the two calls computes too long a sleep, which is the safe
	// side.
	var with, without unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &without) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &with) != nil {
		return 0
	}
	return time.Duration(with.Nano() - without.Nano()).Round(time.Millisecond)
}
