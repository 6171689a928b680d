package events_test

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

func TestStampDominates(t *testing.T) {
	base := events.Stamp{FoldVersion: 1, M: 5, R: 5, D: 5}
	cases := []struct {
		other       events.Stamp
		over, under bool // base dominates other, other dominates base
	}{
		{base, true, true},
		{events.Stamp{}, true, false},
		{events.Stamp{FoldVersion: 2, M: 5, R: 5, D: 5}, false, true},
		{events.Stamp{FoldVersion: 1, M: 6, R: 5, D: 5}, false, true},
		{events.Stamp{FoldVersion: 1, M: 5, R: 4, D: 5}, true, false},
		{events.Stamp{FoldVersion: 1, M: 6, R: 4, D: 5}, false, false},
		{events.Stamp{FoldVersion: 1, M: 5, R: 6, D: 4}, false, false},
		{events.Stamp{FoldVersion: 2, M: 4, R: 5, D: 5}, false, false},
	}
	for _, c := range cases {
		if got := base.Dominates(c.other); got != c.over {
			t.Errorf("%v over %v: got %t", base, c.other, got)
		}
		if got := c.other.Dominates(base); got != c.under {
			t.Errorf("%v over %v: got %t", c.other, base, got)
		}
	}
}
