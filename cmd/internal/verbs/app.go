package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tidemark/tidemark/internal/obs"
)

// App is the argument of the verbs' Run methods.
type App struct {
	Ctx    context.Context
	Name   string // how this program was called
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Build  obs.Build
	Given  map[string]bool // flags from the command line, not from the environment
}

// UsageError is a usage error that only the verb could find.
type UsageError struct{ text string }

func (e UsageError) Error() string { return e.text }

// Usagef returns an error that ends the command with exit code 2.
func Usagef(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

// ErrDifferences ends a verb that has printed the differences it found.
var ErrDifferences = errors.New("differences were found")
