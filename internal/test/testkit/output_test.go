package testkit

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestOutputIsReadWhileItIsWritten: writes of several goroutines arrive whole, and a waiting reader
// sees them.
func TestOutputIsReadWhileItIsWritten(t *testing.T) {
	var out Output
	if got := out.String(); got != "" {
		t.Fatalf("it begins with %q", got)
	}
	const writers, lines = 4, 200
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for i := range lines {
				fmt.Fprintf(&out, "writer %d line %d\n", w, i)
			}
		})
	}
	for w := range writers {
		out.Await(t, fmt.Sprintf("writer %d line %d\n", w, lines-1))
	}
	done.Wait()
	if n := strings.Count(out.String(), "\n"); n != writers*lines {
		t.Errorf("%d lines were written, want %d", n, writers*lines)
	}
}
