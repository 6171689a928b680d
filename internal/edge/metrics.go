package edge

import "github.com/prometheus/client_golang/prometheus"

// Reasons of metrics.refused.
const (
	refusedConnection = "connections"
	refusedHost       = "host"
)

type metrics struct {
	open, limit prometheus.Gauge
	evicted     prometheus.Counter
	refused     *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer, name string) *metrics {
	labels := prometheus.Labels{"listener": name}
	m := &metrics{
		open:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "tidemark_http_connections", Help: "Open connections, sockets among them.", ConstLabels: labels}),
		limit:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "tidemark_http_connections_limit", Help: "How many connections may be open (--max-http-connections).", ConstLabels: labels}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{Name: "tidemark_http_connections_evicted_total", Help: "Idle connections that were closed to make room for new ones.", ConstLabels: labels}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tidemark_http_refused_total", Help: "Connections and requests that were turned away at the door, by reason.", ConstLabels: labels}, []string{"reason"}),
	}
	for _, reason := range []string{refusedConnection, refusedHost} {
		m.refused.WithLabelValues(reason) // so that the series exists from the start
	}
	if r != nil {
		r.MustRegister(m.open, m.limit, m.evicted, m.refused)
	}
	return m
}
