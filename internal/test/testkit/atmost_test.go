package testkit

import (
	"testing"
	"time"
)

// TestAtMost: one duration within the limit is enough, and five beyond it are an error.
func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		times  []time.Duration
		errors int
		calls  int
	}{
		{[]time.Duration{1}, 0, 1},
		{[]time.Duration{9, 8, 2}, 0, 3},
		{[]time.Duration{9, 8, 7, 6, 3}, 0, 5},
		{[]time.Duration{9, 8, 7, 6, 5}, 1, 5},
	} {
		r := &tried{TB: t}
		calls := 0
		AtMost(r, "an answer", 3, func() time.Duration { calls++; return c.times[calls-1] })
		if len(r.errors) != c.errors || calls != c.calls {
			t.Errorf("%v: %d calls and the errors %q", c.times, calls, r.errors)
		}
	}
}
