package gauge

import (
	"strings"
	"testing"
)

// TestRounds: the result is the median, whatever the order, and its note has all rounds.
func TestRounds(t *testing.T) {
	r := Rounds{9, 2, 4}.Result("x")
	if r.CPU != 4 || !strings.Contains(r.Note, "9.00, 2.00, 4.00") {
		t.Errorf("%+v", r)
	}
	if got := (Rounds{4, 1, 3, 2}).Median(); got != 3 {
		t.Errorf("median of four %v, want the upper one, 3", got)
	}
	if got := (Rounds{}).Median(); got != 0 {
		t.Errorf("median of none %v", got)
	}
}
