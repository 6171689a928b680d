//go:build unix

package term

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// OnTerminal reports whether v is a terminal, so that a person can answer or read.
func OnTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// Size is the size of w's terminal; zeros if it does not report one.
func Size(w io.Writer) (columns, rows int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}
