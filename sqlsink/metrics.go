package sqlsink

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/sink"
)

// metrics are the metrics of one Sink.
type metrics struct {
	records    *prometheus.CounterVec // by result
	flush      prometheus.Histogram
	batch      prometheus.Histogram
	errors     prometheus.Counter
	fillings   *prometheus.CounterVec // by reason
	lag        sink.Lag
	lagSeconds prometheus.Gauge
	complete   prometheus.Gauge

	written, coalesced, skipped, bad prometheus.Counter
}

// reasons are the reasons for a filling.
var reasons = []string{whyEmpty, whyTopics}

func newMetrics(r prometheus.Registerer) *metrics {
	const ns, sub = "tidemark", "sql"
	m := &metrics{
		records: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "records_total",
			Help: "Records of the output topics by what became of them: written (handed to the database, which leaves rows with a newer stamp as they are), " +
				"coalesced (replaced within the batch), skipped (the partition moved to another member), bad (unusable).",
		}, []string{"result"}),
		flush: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "flush_seconds",
			Help:    "Time of one transaction that writes a batch, failed ones included.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: ns, Subsystem: sub, Name: "batch_rows",
			Help: "Rows written at once.", Buckets: prometheus.ExponentialBuckets(1, 4, 10)}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "errors_total",
			Help: "Failed attempts to use the database. Each is repeated."}),
		fillings: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Subsystem: sub, Name: "rebuilds_total",
			Help: "Fillings of the database begun here: empty (new or wiped), topics (filled from others)."},
			[]string{"reason"}),
		lag: sink.NewLag(sub, "Offsets between what is written and the end of the log."),
		lagSeconds: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: "lag_seconds",
			Help: "How long the oldest record that is fetched and not written has waited; 0 if there is none."}),
		complete: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: ns, Subsystem: sub, Name: "complete",
			Help: "1 if the database holds all partitions, 0 while it is being filled."}),
	}
	m.written, m.coalesced = m.records.WithLabelValues("written"), m.records.WithLabelValues("coalesced")
	m.skipped, m.bad = m.records.WithLabelValues("skipped"), m.records.WithLabelValues("bad")
	for _, why := range reasons {
		m.fillings.WithLabelValues(why)
	}
	if r != nil {
		r.MustRegister(m.records, m.flush, m.batch, m.errors, m.fillings, m.lag, m.lagSeconds, m.complete)
	}
	return m
}
