package gauge

import (
	"fmt"
	"slices"
	"strings"
)

// Rounds are the CPU seconds per million events of repeated measurements.
type Rounds []float64

// Median returns the median, the upper one of an even number; 0 of none.
func (r Rounds) Median() float64 {
	if len(r) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(r))[len(r)/2]
}

// Result returns the median as a result whose note has all rounds.
func (r Rounds) Result(name string) Result {
	all := make([]string, len(r))
	for i, v := range r {
		all[i] = fmt.Sprintf("%.2f", v)
	}
	return Result{Name: name, CPU: r.Median(), Note: "median of " + strings.Join(all, ", ")}
}
