package processor

import (
	"fmt"
	"runtime/debug"
)

// panicError is a panic that was caught so that it ends one partition and not the process.
type panicError struct {
	where string
	value any
	stack []byte
}

// newPanic is called while the panic unwinds.
func newPanic(where string, value any) *panicError { return &panicError{where, value, debug.Stack()} }

func (e *panicError) Error() string {
	return fmt.Sprintf("%s panicked: %v; this is a bug in Tidemark: the log has the stack", e.where, e.value)
}
