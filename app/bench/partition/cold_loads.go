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

// under folds a load and calls ready when it begins.
func (p *coldPart) under(l load, c *coldRun, ready func()) error {
	n := 2 * c.events
	if l.rate > 0 {
		n = int(c.steadily.Seconds() * float64(l.rate))
	}
	return p.foldBeside(l, n, c.heap, ready)
}
