package guard

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// Error is a panic that was recovered.
type Error struct {
	Where string // the place, as the beginning of a sentence: "the fold", "bringing 000012.sst"
	Value any    // the value of the panic
	Stack []byte // for a log, because it is too long for an error text
}

// Error does not include the stack.
func (e *Error) Error() string {
	return fmt.Sprintf("%s panicked: %v; this is a bug in Tidemark: the log has the stack", e.Where, e.Value)
}

// New returns the Error of a panic. Code that cannot use Recover calls it while the panic unwinds,
// with the value of recover.
func New(where string, value any) *Error {
	var e *Error
	if err, ok := value.(error); ok && errors.As(err, &e) {
		return e // recovered before and raised again, so the first stack is more useful
	}
	return &Error{where, value, debug.Stack()}
}

// Of returns the panic behind err, nil if there is none.
func Of(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		return nil
	}
	return e
}

// Recover turns a panic into the *err of the function that defers it, as in `defer
// guard.Recover("the fold", &err)`. It joins an *err that was set before.
func Recover(where string, err *error) {
	if v := recover(); v != nil {
		e := error(New(where, v))
		if *err != nil {
			e = errors.Join(*err, e)
		}
		*err = e
	}
}

// Err returns f's error, or an *Error if f panics.
func Err(where string, f func() error) (err error) {
	defer Recover(where, &err)
	return f()
}

// Do runs f and returns an *Error if it panics.
func Do(where string, f func()) (err error) {
	defer Recover(where, &err)
	f()
	return nil
}

// Attrs returns err as attributes for a log, with the stack if err comes from a panic.
func Attrs(err error) []any { return append([]any{"err", err}, Stack(err)...) }

// Stack returns the stack as an attribute for a log, nothing if err does not come from a panic.
func Stack(err error) []any {
	if e := Of(err); e != nil {
		return []any{"stack", string(e.Stack)}
	}
	return nil
}

// Log returns an onPanic function for Go and the like that logs a panic and its consequence.
func Log(log *slog.Logger, consequence string, attrs ...any) func(*Error) {
	return func(e *Error) { log.Error(consequence, append(Attrs(e), attrs...)...) }
}
