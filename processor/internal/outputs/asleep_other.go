//go:build !linux

package outputs

import "time"

// asleep returns 0, because this system does not report it: only fences stop a member that slept.
func asleep() time.Duration { return 0 }
