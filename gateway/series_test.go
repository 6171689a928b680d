package gateway

import (
	"testing"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// All series that alerts use exist before the first event.
func TestSeriesFromTheStart(t *testing.T) {
	s := testkit.NewSeries()
	newMetrics(s, &Gateway{})
	s.AllBegun(t)
}
