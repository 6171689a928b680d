package docs

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	const shown = `{"b":1, ... "a":{"x":[{"z":2,"y":3,...}]},"c":[...]}`
	names, err := Names(shown)
	if err != nil || !slices.Equal(names, []string{"b", Left, "a", "c"}) {
		t.Errorf("%q, %v", names, err)
	}
	inner, err := Names(shown, "a", "x")
	if err != nil || !slices.Equal(inner, []string{"z", "y", Left}) {
		t.Errorf("%q, %v", inner, err)
	}
	for _, c := range []struct {
		names []string
		same  bool
	}{
		{[]string{"b", "a", "c"}, true}, {[]string{"b", "k", "l", "a", "c"}, true}, {[]string{"b", "c", "a"}, false}, {[]string{"b"}, false}, {[]string{"b", "a", "c", "d"}, false},
	} {
		if SameNames(c.names, names) != c.same {
			t.Errorf("%q are those of %q: want %v", c.names, names, c.same)
		}
	}
	if _, err := Names(shown, "b"); err == nil {
		t.Error("a number has names")
	}
}
