package checker

import (
	"fmt"
	"strings"
)

// Findings are differences of one kind, in words. The zero value has none.
type Findings struct {
	What  string   // what was compared with what
	Count int      // of all differences
	First []string // the first five of them
}

// Add notes a difference.
func (f *Findings) Add(format string, args ...any) {
	if f.Count++; len(f.First) < 5 {
		f.First = append(f.First, fmt.Sprintf(format, args...))
	}
}

// String returns how many differences there are, and the first ones.
func (f *Findings) String() string {
	return fmt.Sprintf("%s: %d differences, the first:\n%s", f.What, f.Count, strings.Join(f.First, "\n"))
}

// Reporter is the part of testing.TB that Report needs.
type Reporter interface {
	Helper()
	Error(args ...any)
}

// Report fails the test if there are any differences.
func (f *Findings) Report(t Reporter) {
	t.Helper()
	if f.Count > 0 {
		t.Error(f.String())
	}
}
