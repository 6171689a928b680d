package snapshot

import (
	"fmt"
	"runtime/debug"
)

// PanicError is a panic in the middle of bringing or uploading a file. It is an error like one of the bucket's: a snapshot that
// cannot be had is no reason for a node to end.
type PanicError struct {
	Doing string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("snapshots: %s panicked: %v; this is a bug in Tidemark:\n%s", e.Doing, e.Value, e.Stack)
}

// caught makes a panic of f, which runs in a goroutine of its own, an error.
func caught(doing string, f func() error) func() error {
	return func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{doing, p, debug.Stack()}
			}
		}()
		return f()
	}
}
