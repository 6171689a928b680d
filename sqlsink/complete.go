package sqlsink

import (
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// completeness remembers whether the database is complete, and reports each change to the metric
// and the log.
type completeness struct {
	is    atomic.Bool
	gauge prometheus.Gauge
	log   *slog.Logger
}

func (c *completeness) set(is bool) {
	if c.is.Swap(is) == is {
		return
	}
	if is {
		c.gauge.Set(1)
		c.log.Info("the database is complete")
	} else {
		c.gauge.Set(0)
	}
}
