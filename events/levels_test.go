package events

import "testing"

// A level applies before its time, and not at it.
func TestLevelsAt(t *testing.T) {
	timed := Levels{Level: LevelNone, Until: 1000, After: LevelMentions}
	for _, c := range []struct {
		levels Levels
		now    int64
		want   Levels
	}{
		{Levels{}, 5, Levels{}},
		{Levels{Level: LevelNone}, 5, Levels{Level: LevelNone}},
		{timed, 999, timed},
		{timed, 1000, Levels{Level: LevelMentions}},
		{timed, 5000, Levels{Level: LevelMentions}},
	} {
		if got := c.levels.At(c.now); got != c.want {
			t.Errorf("%+v at %d: %+v, want %+v", c.levels, c.now, got, c.want)
		}
	}
}
