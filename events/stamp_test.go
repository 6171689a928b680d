package events

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestStampText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := rapid.Int64Range(0, math.MaxInt64)
		s := Stamp{FoldVersion: rapid.Uint32().Draw(t, "version"), M: next.Draw(t, "m"), R: next.Draw(t, "r"), D: next.Draw(t, "d")}
		if got, err := ParseStamp(s.String()); err != nil || got != s {
			t.Fatalf("%+v is written as %s and read as %+v, %v", s, s, got, err)
		}
	})
	if got := (Stamp{1, 20, 300, 0}).String(); got != "1.20.300.0" {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.x", "1.2.-3.4", "4294967296.1.1.1", "1.2.3.9223372036854775808"} {
		if got, err := ParseStamp(bad); err == nil {
			t.Errorf("%q was read as %s", bad, got)
		}
	}
}
