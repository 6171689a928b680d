package sink

import (
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Completeness remembers whether the target of a sink is complete, and tells the metric and the log
// of each change.
type Completeness struct {
	Gauge prometheus.Gauge // 1 while it is complete
	Log   *slog.Logger
	Text  string // the log line

	is atomic.Bool
}

// Is reports whether the target is complete.
func (c *Completeness) Is() bool { return c.is.Load() }

// Set says whether it is.
func (c *Completeness) Set(is bool) {
	if c.is.Swap(is) == is {
		return
	}
	if is {
		c.Gauge.Set(1)
		c.Log.Info(c.Text)
	} else {
		c.Gauge.Set(0)
	}
}
