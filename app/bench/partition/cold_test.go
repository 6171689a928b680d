package partition

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tidemark/tidemark/internal/traffic"
	"github.com/tidemark/tidemark/projections"
)

// TestCold runs the bench cold on few channels: most leave memory, and users of 40 cold channels are
// asked for in process and by HTTP.
func TestCold(t *testing.T) {
	mix := traffic.Mixes["G"]
	mix.Channels, mix.Users, mix.Heavy = 17_600, 35_200, 50
	results, err := cold(t.Context(), coldRun{
		mix: mix, events: 40_000, asked: 20, steadily: time.Second / 2, heap: 1 << 40,
		little: room{hot: 6 << 20, cache: 8 << 20, memtable: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 || len(results[0].Goals) != 4 || len(results[1].Goals) != 18 || len(results[2].Goals) != 12 {
		t.Fatalf("%+v", results)
	}
	if !strings.HasPrefix(results[0].Name, "352000 pairs") {
		t.Errorf("%s, want 352000", results[0].Name)
	}
	for _, r := range results {
		t.Logf("%s: %s", r.Name, r.Note)
		for _, g := range r.Goals {
			t.Log(g)
			if g.Got <= 0 {
				t.Errorf("%s: %s", r.Name, g)
			}
		}
	}
}

// TestHeavyIsCold: a heavy user is drawn only if 40 of their channels are cold.
func TestHeavyIsCold(t *testing.T) {
	mix := traffic.Mixes["G"]
	mix.Channels, mix.Users, mix.Heavy = 3_520, 7_040, 10
	p, err := openCold(mix, projections.DefaultSettings(), everything)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	r := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // of this test alone
	for range 20 {
		if user := p.heavy(mix, r); user != "" {
			t.Errorf("%s has cold channels, with all channels in memory", user)
		}
	}
	if got, err := ask(p.inProcess(mix), func(turns int) bool { return turns < 20 }); err == nil || !strings.Contains(err.Error(), "nothing that was drawn is cold") {
		t.Errorf("%v, %v, with all channels in memory", got, err)
	}
}
