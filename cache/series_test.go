package cache

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// All series that alerts use exist before the first event; the lag has one for each owned
// partition.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	newMetrics(s)
	s.AllBegun(t, "tidemark_cache_lag_records")
}
