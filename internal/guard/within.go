package guard

import "time"

// Within runs f in a goroutine of its own and reports whether it has returned within d. If not, f
// continues by itself. Within is for the last steps of a shutdown, which may wait for brokers and
// disks that never answer. onPanic is as in Go; a function that panics counts as returned.
func Within(d time.Duration, where string, onPanic func(*Error), f func()) bool {
	done := make(chan struct{})
	Go(where, onPanic, func() {
		defer close(done)
		f()
	})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	}
	select {
	case <-done: // both happened at once
		return true
	default:
		return false
	}
}
