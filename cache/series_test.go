package cache

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// All series that an alert looks at are there before the first event; the lag has one for each
// partition that is owned.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	newMetrics(s)
	s.AllBegun(t, "tidemark_cache_lag_records")
}
