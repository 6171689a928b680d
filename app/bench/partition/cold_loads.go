package partition

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/traffic"
)

// load is traffic that is folded while queries are asked.
type load struct {
	what string
	mix  traffic.Mix
	g    *traffic.Generator // continues an earlier run of the mix; nil begins one
	rate int                // in events per second; 0 for as fast as they are folded
}

// loads returns traffic to 1 % of the channels, of which g is a generator, and to all of them. A
// node has time to spare at all rates but the last.
func loads(g *traffic.Generator, few, all traffic.Mix) (out []load) {
	all.Seed++ // other events than those whose cost is measured
	for _, rate := range []int{5_000, 20_000, 100_000} {
		out = append(out, load{fmt.Sprintf("%d events a second to 1 %%", rate), few, g, rate})
	}
	return append(out,
		load{"5000 events a second to all at random", all, nil, 5_000},
		load{"traffic to 1 % as fast as it is folded", few, g, 0},
	)
}

// events returns how many events of a load a run folds.
func (l load) events(c *coldRun) int {
	if l.rate == 0 {
		return 2 * c.events
	}
	return int(c.steadily.Seconds() * float64(l.rate))
}
