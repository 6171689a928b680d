package cache

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/sink"
)

// metrics are the metrics of one Cache.
type metrics struct {
	records     *prometheus.CounterVec // by result
	commands    prometheus.Counter
	pipeline    prometheus.Histogram
	batch       prometheus.Histogram
	redisErrors prometheus.Counter
	fillings    *prometheus.CounterVec // by reason
	lag         sink.Lag
	lagSeconds  prometheus.Gauge
	complete    prometheus.Gauge

	applied, stale, skipped, coalesced, left, bad prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	const ns, sub = "tidemark", "cache"
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "deltas_total",
			Help: "Records of the compacted topics by what became of them: applied, stale (dominated by what Redis holds, or " +
				"equal to it), skipped (the partition moved to another member), coalesced (replaced within the batch), left-out (of a family of keys that --redis-keys does not name), bad (unusable).",
		}, []string{"result"}),
		commands: prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "commands_total",
			Help: "Commands sent to Redis to apply records, those that ask what it holds included."}),
		pipeline: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "pipeline_seconds",
			Help:    "Time of one transaction of up to 500 values, failed ones included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "batch_records",
			Help: "Records read at once, and joined.", Buckets: prometheus.ExponentialBuckets(1, 4, 10)}),
		redisErrors: prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "redis_errors_total",
			Help: "Failed attempts to use Redis. Each is repeated."}),
		fillings: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "rebuilds_total",
			Help: "Fillings of Redis begun here: empty (new or wiped), epoch (its key is gone), topics (filled from others), format (filled by another version, or with other flags)."},
			[]string{"reason"}),
		lag: sink.NewLag(sub, "Offsets between what is applied and the end of the log."),
		lagSeconds: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: "lag_seconds",
			Help: "Age of the oldest record of the last batch once it was applied; 0 while there is nothing to apply."}),
		complete: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: "complete",
			Help: "1 if Redis holds all partitions, 0 while it is being filled: then readers miss."}),
	}
	m.applied, m.stale = m.records.WithLabelValues("applied"), m.records.WithLabelValues("stale")
	m.skipped = m.records.WithLabelValues("skipped")
	m.left = m.records.WithLabelValues("left-out")
	m.coalesced, m.bad = m.records.WithLabelValues("coalesced"), m.records.WithLabelValues("bad")
	for _, why := range []string{"empty", "epoch", "topics", "format"} {
		m.fillings.WithLabelValues(why)
	}
	if r != nil {
		r.MustRegister(m.records, m.commands, m.pipeline, m.batch, m.redisErrors, m.fillings, m.lag, m.lagSeconds, m.complete)
	}
	return m
}

func (m *metrics) count(t tally) {
	m.applied.Add(float64(t.applied))
	m.stale.Add(float64(t.stale))
	m.skipped.Add(float64(t.skipped))
	m.coalesced.Add(float64(t.coalesced))
	m.left.Add(float64(t.left))
	m.bad.Add(float64(t.bad))
	m.batch.Observe(float64(t.records))
}
