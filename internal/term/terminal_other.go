//go:build !unix

package term

import (
	"io"
	"os"
)

// OnTerminal reports whether v is a terminal, so that a person can answer or read.
func OnTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Size is unknown here, so output is not fitted to the screen.
func Size(io.Writer) (columns, rows int) { return 0, 0 }
