package node

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/obs/codes"
)

var stateCode = prometheus.NewDesc("tidemark_state_code",
	"Lines of /readyz that have a code now, by code: partitions that fail with it, and other refusals.", []string{"code"}, nil)

// stateCodes counts, at each scrape, the lines of /readyz by their codes. Every code of a refusal
// has a series from the start, so that an alert sees the first time.
type stateCodes struct {
	ready func() obs.Readiness
	log   *slog.Logger
}

// Describe implements prometheus.Collector.
func (stateCodes) Describe(ch chan<- *prometheus.Desc) { ch <- stateCode }

// Collect implements prometheus.Collector. A panic would end the process in the registry's
// goroutine.
func (c stateCodes) Collect(ch chan<- prometheus.Metric) {
	lines := map[string]int{}
	if err := guard.Do("the reading of /readyz for metrics", func() {
		for _, line := range c.ready().Lines {
			lines[codes.Of(line)]++
		}
	}); err != nil {
		c.log.Error("some metrics are missing", guard.Attrs(err)...)
		return
	}
	for _, code := range codes.All() {
		if !code.Letter() {
			ch <- prometheus.MustNewConstMetric(stateCode, prometheus.GaugeValue, float64(lines[code.ID]), code.ID)
		}
	}
}
