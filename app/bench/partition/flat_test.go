package partition

import (
	"strings"
	"testing"

	"github.com/tidemark/tidemark/internal/traffic"
)

// TestFlat runs the bench of equal hot sets on few channels: nearly all of the large partition are
// cold, and those of the small one are not.
func TestFlat(t *testing.T) {
	mix := traffic.Mixes["G"]
	mix.Channels, mix.Users = 20_000, 40_000
	results, err := flat(t.Context(), flatRun{
		mix: mix, busy: 50, events: 20_000, rounds: 2, heap: 1 << 40,
		room: room{hot: 4 << 20, cache: 8 << 20, memtable: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || len(results[1].Goals) != 1 || results[0].CPU <= 0 || results[1].Goals[0].Got <= 0 {
		t.Fatalf("%+v", results)
	}
	for i, want := range []string{"1000 pairs, 0 of 50 channels cold", "400000 pairs, 1"} {
		t.Log(results[i])
		if !strings.Contains(results[i].Note, want) {
			t.Errorf("%q, want %q", results[i].Note, want)
		}
	}
	if strings.Count(results[0].Note, ".") != 4 || strings.Count(results[1].Note, ".") != 2 {
		t.Errorf("%q and %q: want 4 and 2 rounds", results[0].Note, results[1].Note)
	}
}
