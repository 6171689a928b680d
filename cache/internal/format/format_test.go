package format

import (
	"strings"
	"testing"
)

// Each choice has a name of its own, by which readers recognize it. JSON with all keys has the name
// that earlier builds use.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for i := range 16 {
		f := Format{Packed: i&1 != 0, NoPointers: i&2 != 0, NoChannels: i&4 != 0, NoThreads: i&8 != 0}
		got, ok := Parse(f.String() + "id/with/slashes")
		if !ok || got != f {
			t.Errorf("%+v is named %q and read as %+v, %v", f, f, got, ok)
		}
		again, err := Of(f.Values(), strings.Split(f.Keys(), ","))
		if err != nil || again != f {
			t.Errorf("flags of %+v: %+v, %v", f, again, err)
		}
		seen[f.String()] = true
	}
	if len(seen) != 16 || (Format{}).String() != "4/" {
		t.Errorf("names: %v", seen)
	}
	if name := (Format{Packed: true, NoPointers: true}).String(); name != "5:packed:inbox,channels,threads/" {
		t.Error(name)
	}
	for _, unknown := range []string{"", "4", "3/x", "5:/x", "5:packed/x", "5:zip:inbox/x", "5:packed:channels/x", "5:packed:threads,inbox/x", "5:json:inbox,pointers,channels,threads/x", "6:packed:inbox/x"} {
		if f, ok := Parse(unknown); ok {
			t.Errorf("%q was read as %+v", unknown, f)
		}
	}
}

func TestRefusedFlags(t *testing.T) {
	for _, c := range []struct {
		values string
		keys   []string
		want   string
	}{
		{"xml", nil, "json or packed"}, {"", []string{"pointers"}, "inbox cannot be left out"}, {"", []string{"inbox", "stars"}, `no keys "stars"`},
	} {
		if _, err := Of(c.values, c.keys); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v, want %q", c.values, c.keys, err, c.want)
		}
	}
}
