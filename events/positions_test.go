package events

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPositionsText(t *testing.T) {
	for _, c := range []struct {
		list []uint32
		want string
	}{
		{nil, ""}, {[]uint32{3}, "3"}, {[]uint32{3, 7, 8, 9}, "3,7-9"}, {[]uint32{1, 2, 4, 5}, "1-2,4-5"},
		{[]uint32{4294967294, 4294967295}, "4294967294-4294967295"},
	} {
		if got := string(AppendPositions(nil, c.list)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.list, got, c.want)
		}
		set, err := ParsePositions(c.want)
		if err != nil || set.Size() != len(c.list) || !slices.Equal(set, PositionsOf(c.list)) {
			t.Errorf("%q: got %v, %v", c.want, set, err)
		}
	}
}

func TestPositionsRefused(t *testing.T) {
	for _, s := range []string{",", "x", "3,", "3,2", "3,3", "5-4", "1-3,3", "-1", "1-", "4294967296", "1-4294967296", " 1"} {
		if set, err := ParsePositions(s); err == nil {
			t.Errorf("%q was read as %v", s, set)
		}
	}
}

// anyPositions draws an ascending list of positions from 1 to 60.
func anyPositions() *rapid.Generator[[]uint32] {
	return rapid.Custom(func(t *rapid.T) []uint32 {
		return slices.Sorted(slices.Values(rapid.SliceOfNDistinct(rapid.Uint32Range(1, 60), 0, 30, rapid.ID).Draw(t, "positions")))
	})
}

func TestPositionsFrom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, pos := anyPositions().Draw(t, "list"), rapid.Uint32Range(0, 62).Draw(t, "pos")
		set := PositionsOf(list)
		if set.Size() != len(list) {
			t.Fatalf("%v has size %d, want %d", set, set.Size(), len(list))
		}
		var want Positions
		for _, r := range set {
			if r.Hi >= pos {
				want = append(want, r)
			}
		}
		if got := set.from(pos); !slices.Equal(got, want) {
			t.Fatalf("%v from %d: got %v, want %v", set, pos, got, want)
		}
	})
}
