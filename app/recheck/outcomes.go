package recheck

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/projections"
)

// Outcomes of a check.
const (
	equal     = "equal"
	different = "different"
	unknown   = "unknown"
)

// newChecked counts channels by outcome. All series are 0 from the start.
func newChecked() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tidemark_badge_checked_total",
		Help: "Channels that were derived from the log again (--check-channels), by whether the node answered the same; unknown: they could not be compared.",
	}, []string{"outcome"})
	for _, outcome := range []string{equal, different, unknown} {
		c.WithLabelValues(outcome)
	}
	return c
}

// count counts channels with an outcome.
func (k *Checker) count(outcome string, channels int) {
	k.checked.WithLabelValues(outcome).Add(float64(channels))
}

// wrong logs a channel with an answer that differs from its log.
func (k *Checker) wrong(n int32, channel string, at projections.Position, d difference) {
	k.count(different, 1)
	k.cfg.Logger.Error("a badge is wrong", "partition", n, "channel", channel, "position", at, "user", d.user,
		"err", fmt.Errorf("%s is %s, and the log gives %s: run `tidemark verify` on this node", d.field, d.is, d.want))
}
