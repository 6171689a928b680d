package query

import (
	"log/slog"
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// All series that alerts use exist before the first event.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	newMetrics(s, slog.New(slog.DiscardHandler))
	s.AllBegun(t)
	values := gathered(t, s.Registry)
	for _, name := range []string{"tidemark_query_calls_total internal GetUnread", "tidemark_query_calls_total unavailable Publish"} {
		if v, ok := values[name]; !ok || v != 0 {
			t.Errorf("%s: %v, %t", name, v, ok)
		}
	}
}
