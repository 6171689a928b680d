package guard

import (
	"context"
	"time"
)

// Go runs f in a goroutine of its own. If f panics, onPanic is called in that goroutine after f's
// deferred calls. onPanic must not be nil. It must log the panic and release callers that wait for
// f's result. A panic of onPanic itself is dropped.
func Go(where string, onPanic func(*Error), f func()) {
	go run(where, onPanic, f)
}

// AfterFunc is time.AfterFunc with a function that may panic, as in Go.
func AfterFunc(d time.Duration, where string, onPanic func(*Error), f func()) *time.Timer {
	return time.AfterFunc(d, func() { run(where, onPanic, f) })
}

// OnDone is context.AfterFunc with a function that may panic, as in Go.
func OnDone(ctx context.Context, where string, onPanic func(*Error), f func()) (stop func() bool) {
	return context.AfterFunc(ctx, func() { run(where, onPanic, f) })
}

// Loop runs f, which serves until ctx is done, and runs it again a second after a panic. Other code
// may rely on f for as long as the process lives, so a panic must only pause it. onPanic logs each
// panic.
func Loop(ctx context.Context, where string, onPanic func(*Error), f func()) {
	for {
		err := Do(where, f)
		if err == nil {
			return
		}
		_ = Do(where, func() { onPanic(Of(err)) })
		select {
		case <-time.After(loopPause):
		case <-ctx.Done():
			return
		}
	}
}

const loopPause = time.Second

func run(where string, onPanic func(*Error), f func()) {
	if err := Do(where, f); err != nil {
		_ = Do(where, func() { onPanic(Of(err)) })
	}
}
