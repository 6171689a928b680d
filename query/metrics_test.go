package query

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// gathered returns the value of each counter and gauge, by name and label values.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := f.GetName()
			for _, l := range m.Label { // sorted by name
				key += " " + l.GetValue()
			}
			out[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func TestCallsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	first := true
	c := newCluster(t, 2, 2, func(cfg *Config) {
		if first {
			cfg.Registerer, first = reg, false
		}
	})
	here, there := c.channelOn("c", 0), c.channelOn("c", 1)
	c.join(here, "ann")
	c.join(there, "ann")
	c.nodes[0].unread(t, "ann", here)
	c.nodes[0].unread(t, "ann", there)
	c.nodes[0].callJSON(t, "GetChannel", fmt.Sprintf(`{"channel_id":%q}`, c.channelOn("nope", 0)))
	c.nodes[0].watch(t, t.Context(), "ann").next()
	got := gathered(t, reg)
	for key, want := range map[string]float64{
		"tidemark_query_calls_total ok GetUnread":         2, // labels in the order of their names
		"tidemark_query_calls_total not_found GetChannel": 1,
		"tidemark_query_forwarded_total":                  2, // one GetUnread, one watch
		"tidemark_query_watches":                          1,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
}
