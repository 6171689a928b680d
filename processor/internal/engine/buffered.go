package engine

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// withBuffered registers a client's metrics, and adds records that wait elsewhere to its gauges of
// buffered records.
type withBuffered struct {
	prometheus.Registerer
	buffered func() (records, bytes int64)
}

// MustRegister implements prometheus.Registerer.
func (w withBuffered) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		w.Registerer.MustRegister(w.around(c))
	}
}

// Register implements prometheus.Registerer.
func (w withBuffered) Register(c prometheus.Collector) error {
	return w.Registerer.Register(w.around(c))
}

func (w withBuffered) around(c prometheus.Collector) prometheus.Collector {
	gauge, ok := c.(prometheus.GaugeFunc)
	if !ok {
		return c
	}
	switch name := gauge.Desc().String(); {
	case strings.Contains(name, `buffered_produce_records_total"`):
		return sum{gauge, func() int64 { records, _ := w.buffered(); return records }}
	case strings.Contains(name, `buffered_produce_bytes"`):
		return sum{gauge, func() int64 { _, bytes := w.buffered(); return bytes }}
	}
	return c
}

// sum is a gauge to which something is added.
type sum struct {
	prometheus.GaugeFunc
	more func() int64
}

// Collect implements prometheus.Collector.
func (s sum) Collect(ch chan<- prometheus.Metric) {
	var m dto.Metric
	if err := s.Write(&m); err != nil {
		ch <- prometheus.NewInvalidMetric(s.Desc(), err)
		return
	}
	ch <- prometheus.MustNewConstMetric(s.Desc(), prometheus.GaugeValue, m.GetGauge().GetValue()+float64(s.more()))
}
