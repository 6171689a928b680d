package engine

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/setup"
)

// TestBufferedGauges: the gauges of the producer's client include what waits beside the client, and
// go with the client.
func TestBufferedGauges(t *testing.T) {
	r := prometheus.NewRegistry()
	e := &Engine{Config: setup.Checked{Config: setup.Config{Registerer: r, Brokers: []string{"127.0.0.1:1"}}}}
	cl, err := kgo.NewClient(e.ProducerOptions(func() (int64, int64) { return 7, 700 })...)
	if err != nil {
		t.Fatal(err)
	}
	read := func() map[string]float64 {
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]float64{}
		for _, f := range families {
			values[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
		}
		return values
	}
	got := read()
	if got["tidemark_processor_kafka_buffered_produce_records_total"] != 7 || got["tidemark_processor_kafka_buffered_produce_bytes"] != 700 {
		t.Errorf("gauges: %v", got)
	}
	cl.Close()
	if got := read(); len(got) > 0 {
		t.Errorf("gauges of a closed client: %v", got)
	}
}
