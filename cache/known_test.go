package cache

import (
	"testing"

	"github.com/tidemark/tidemark/events"
)

func TestPointerMoved(t *testing.T) {
	read := func(seq uint32, at, r int64) *events.UnreadDelta {
		return reading(small("u", "c", 5, r), "m", seq, at)
	}
	for _, c := range []struct {
		name string
		has  known
		now  *events.UnreadDelta
		want bool
	}{
		{"nothing known", known{}, read(4, t0, 1), true},
		{"another seq", after(read(3, t0, 1)), read(4, t0, 1), true},
		{"the same", after(read(4, t0, 1)), read(4, t0, 1), false},
		{"the same after a mute", after(read(4, t0, 1)), read(4, t0, 2), false},
		{"the same seq at another time", after(read(4, t0, 1)), read(4, t0+1, 2), true},
		{"none before and after", after(read(0, 0, 1)), read(0, 0, 2), false},
		{"none any more", after(read(4, t0, 1)), read(0, 0, 2), true},
		{"read back, no later read", known{there: true, stamp: stampOf(4, 1), seq: 4, at: atUnknown}, read(4, t0, 1), false},
		{"read back, a later read", known{there: true, stamp: stampOf(4, 1), seq: 4, at: atUnknown}, read(4, t0, 2), true},
		{"read back, none", known{there: true, stamp: stampOf(4, 1), at: atUnknown}, read(0, 0, 2), false},
	} {
		now := after(c.now)
		if got := c.has.moved(&now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestParseGone(t *testing.T) {
	k, ok := parseGone("1.2.3.4.5")
	if want := (known{stamp: events.Stamp{FoldVersion: 1, M: 2, R: 3, D: 4}, seq: 5, at: atUnknown, there: true}); !ok || k != want {
		t.Errorf("got %+v, %v", k, ok)
	}
	for _, s := range []string{"", "1.2.3.4", "1.2.3.4.", "1.2.3.4.x", "1.2.3.4.5.6", "x"} {
		if k, ok := parseGone(s); ok {
			t.Errorf("%q was read as %+v", s, k)
		}
	}
}
