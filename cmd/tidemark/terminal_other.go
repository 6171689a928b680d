//go:build !unix

package main

import "io"

// terminalSize is not known here: what is drawn is not fitted.
func terminalSize(io.Writer) (columns, rows int) { return 0, 0 }
