// Package shown counts whether clients show the badge that a gateway has sent them.
package shown

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/obs"
)

// Outcomes of a check.
const (
	equal     = "equal"
	different = "different"
	unknown   = "unknown" // frames may still have been in flight
)

// Checks counts whether clients show the right badge.
type Checks struct {
	outcomes *prometheus.CounterVec
	log      *obs.Seldom
}

// New creates Checks. All series start at 0.
func New(r prometheus.Registerer, log *slog.Logger) *Checks {
	c := &Checks{
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_gateway_shown_total",
			Help: "Badges that clients said they show (sync with shown), by whether the gateway had told them the same; unknown: what it told last may still have been on its way.",
		}, []string{"outcome"}),
		log: obs.NewSeldom(log, nil),
	}
	for _, outcome := range []string{equal, different, unknown} {
		c.outcomes.WithLabelValues(outcome)
	}
	if r != nil {
		r.MustRegister(c.outcomes)
	}
	return c
}

// Judge counts the badge that a connection's client shows; nil: it did not state one. settled
// reports that the client has certainly received everything sent to it.
func (c *Checks) Judge(instance string, shows *int64, badge uint64, settled bool) {
	switch {
	case shows == nil:
	case *shows >= 0 && uint64(*shows) == badge:
		c.outcomes.WithLabelValues(equal).Inc()
	case !settled:
		c.outcomes.WithLabelValues(unknown).Inc()
	default:
		c.outcomes.WithLabelValues(different).Inc()
		c.log.Warn("a client shows another badge than the gateway sent", "instance", instance, "shows", *shows, "badge", badge)
	}
}
