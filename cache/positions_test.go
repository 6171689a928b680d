package cache

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
		if got := string(appendPositions(nil, c.list)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.list, got, c.want)
		}
		set, err := parsePositions(c.want)
		if err != nil || set.size() != len(c.list) {
			t.Errorf("%q: got %v, %v", c.want, set, err)
		}
	}
}

func TestPositionsRefused(t *testing.T) {
	for _, s := range []string{",", "x", "3,", "3,2", "3,3", "5-4", "1-3,3", "-1", "1-", "4294967296", "1-4294967296", " 1"} {
		if set, err := parsePositions(s); err == nil {
			t.Errorf("%q: read as %v, want an error", s, set)
		}
	}
}

// A run of all positions is counted without listing them.
func TestPositionsHugeRun(t *testing.T) {
	set, err := parsePositions("1-4294967295")
	if err != nil {
		t.Fatal(err)
	}
	if n := set.within(0, 4294967295); n != 4294967295 {
		t.Errorf("counted %d", n)
	}
	if n := set.withinBut(10, 4294967295, runs{{1, 11}, {4294967295, 4294967295}}); n != 4294967295-10-2 {
		t.Errorf("counted %d", n)
	}
}

func TestRunsAgainstMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (runs, map[uint32]bool) {
			list := anyPositions().Draw(t, name)
			set, err := parsePositions(string(appendPositions(nil, list)))
			if err != nil {
				t.Fatal(err)
			}
			m := map[uint32]bool{}
			for _, p := range list {
				m[p] = true
			}
			if set.size() != len(m) {
				t.Fatalf("%v: size %d, want %d", set, set.size(), len(m))
			}
			return set, m
		}
		a, inA := draw("a")
		b, inB := draw("b")
		lo := rapid.Uint32Range(0, 20).Draw(t, "lo")
		hi := lo + rapid.Uint32Range(0, 20).Draw(t, "span")
		var within, both, but uint32
		var all []uint32
		for p := uint32(0); p < 60; p++ {
			if inA[p] || inB[p] {
				all = append(all, p)
			}
			if p <= lo || p > hi {
				continue
			}
			if inA[p] {
				within++
			}
			if inA[p] || inB[p] {
				both++
			}
			if inA[p] && !inB[p] {
				but++
			}
		}
		u := union(a, b)
		want, _ := parsePositions(string(appendPositions(nil, all)))
		if !slices.Equal(u, want) {
			t.Fatalf("union of %v and %v: %v, want %v", a, b, u, want)
		}
		if got := a.within(lo, hi); got != within {
			t.Fatalf("%v within (%d,%d]: %d, want %d", a, lo, hi, got, within)
		}
		if got := u.within(lo, hi); got != both {
			t.Fatalf("%v within (%d,%d]: %d, want %d", u, lo, hi, got, both)
		}
		if got := a.withinBut(lo, hi, b); got != but {
			t.Fatalf("%v but %v within (%d,%d]: %d, want %d", a, b, lo, hi, got, but)
		}
	})
}
