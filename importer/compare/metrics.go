package compare

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the metrics of repeated comparisons.
type Metrics struct {
	pairs   *prometheus.CounterVec
	last    *prometheus.GaugeVec
	failed  prometheus.Counter
	at      prometheus.Gauge
	seconds prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		pairs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tidemark_compare_pairs_total", Help: "Numbers that were compared, by bucket.",
		}, []string{"bucket"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "tidemark_compare_pairs", Help: "Numbers of the last comparison, by bucket.",
		}, []string{"bucket"}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tidemark_compare_failed_total", Help: "Comparisons that failed.",
		}),
		at: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemark_compare_last_timestamp_seconds", Help: "When the last comparison ended, since 1970; 0 before the first one.",
		}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "tidemark_compare_last_duration_seconds", Help: "How long the last comparison took.",
		}),
	}
	for _, b := range Buckets {
		m.pairs.WithLabelValues(string(b))
		m.last.WithLabelValues(string(b))
	}
	r.MustRegister(m.pairs, m.last, m.failed, m.at, m.seconds)
	return m
}

// Round takes the result of a comparison, or the reason why there is none.
func (m *Metrics) Round(res *Result, took time.Duration, err error) {
	if err != nil {
		m.failed.Inc()
		return
	}
	for _, b := range Buckets {
		m.pairs.WithLabelValues(string(b)).Add(float64(res.Buckets[b]))
		m.last.WithLabelValues(string(b)).Set(float64(res.Buckets[b]))
	}
	m.at.SetToCurrentTime()
	m.seconds.Set(took.Seconds())
}
