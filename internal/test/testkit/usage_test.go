package testkit

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// tried runs NoGrowth with errors recorded instead of reported.
type tried struct {
	testing.TB
	errors []string
}

func (r *tried) Helper()             {}
func (r *tried) Logf(string, ...any) {}
func (r *tried) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// TestNoGrowthSeesWhatLeaks: NoGrowth finds a goroutine, a descriptor and memory that leak with
// each of a hundred calls, and nothing if all are released.
func TestNoGrowthSeesWhatLeaks(t *testing.T) {
	slack := Usage{Goroutines: 10, Descriptors: 10, Heap: 1 << 20, Resident: 1 << 30}
	stop := make(chan struct{})
	defer close(stop)
	var files []*os.File
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	var kept [][]byte
	for want, call := range map[string]func(){
		"":           func() { kept = nil },
		"goroutines": func() { go func() { <-stop }() },
		"descriptors": func() {
			f, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		},
		"bytes of heap": func() { kept = append(kept, make([]byte, 64<<10)) },
	} {
		r := &tried{TB: t}
		noGrowth(r, slack, 0, func() {
			for range 100 {
				call()
			}
		})
		switch all := strings.Join(r.errors, "\n"); {
		case want == "" && all != "":
			t.Errorf("nothing leaks, but NoGrowth fails: %s", all)
		case !strings.Contains(all, want):
			t.Errorf("%s leak, and NoGrowth reports %q", want, all)
		}
	}
	_ = kept
}
