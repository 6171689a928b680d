package sink

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// Lag is the metric of the records between what a sink has written and the ends of the logs, by
// topic and partition.
type Lag struct{ *prometheus.GaugeVec }

// NewLag makes the metric lag_records of a subsystem.
func NewLag(subsystem, help string) Lag {
	return Lag{prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "tidemark", Subsystem: subsystem, Name: "lag_records", Help: help},
		[]string{"topic", "partition"})}
}

// Put sets how many records a partition is behind.
func (l Lag) Put(p Partition, records int64) {
	l.WithLabelValues(p.Topic, strconv.Itoa(int(p.Number))).Set(float64(max(0, records)))
}

// Drop forgets a partition.
func (l Lag) Drop(p Partition) { l.DeleteLabelValues(p.Topic, strconv.Itoa(int(p.Number))) }
