package trace

import "github.com/prometheus/client_golang/prometheus"

// Observe observes a value, with the id of a trace as its exemplar if there is one.
func Observe(to prometheus.Observer, value float64, traceID string) {
	if traceID != "" {
		if e, ok := to.(prometheus.ExemplarObserver); ok {
			e.ObserveWithExemplar(value, prometheus.Labels{"trace_id": traceID})
			return
		}
	}
	to.Observe(value)
}
