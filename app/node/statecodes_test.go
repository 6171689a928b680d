package node

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/obs"
)

// Every refusal's code has a series; it counts the lines of /readyz that have the code, also of a
// node that is ready. What panics leaves the metric out.
func TestStateCodes(t *testing.T) {
	var lines []string
	log := slog.New(slog.DiscardHandler)
	reg := prometheus.NewRegistry()
	reg.MustRegister(stateCodes{func() obs.Readiness {
		if lines == nil {
			panic("planted")
		}
		return obs.Readiness{Ready: true, Lines: lines}
	}, log})
	gathered := func() map[string]float64 {
		t.Helper()
		families, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.Metric {
				got[m.Label[0].GetValue()] = m.Gauge.GetValue()
			}
		}
		return got
	}
	if got := gathered(); len(got) != 0 {
		t.Errorf("after a panic: %v", got)
	}
	lines = []string{
		"partition 0 live, 0 records behind",
		"partition 1 failed: topic chat.reads: no such topic: create it with `tidemark topics create`",
		"partition 2 failed: topic chat.reads: no such topic: create it with `tidemark topics create`",
	}
	got := gathered()
	if len(got) < 40 || got["TM002"] != 2 || got["TM001"] != 0 {
		t.Errorf("%v", got)
	}
	for code := range got {
		if strings.HasPrefix(code, "TM1") || code == "" {
			t.Errorf("%q has a series", code)
		}
	}
}
