package processor

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/metrics"
)

// gathered returns the metrics of a registry: value by name and labels, such as name{a="1",b="2"}.
// The value of a histogram is its count.
func gathered(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				values[name] = m.GetCounter().GetValue()
			case dto.MetricType_GAUGE:
				values[name] = m.GetGauge().GetValue()
			case dto.MetricType_HISTOGRAM:
				values[name] = float64(m.GetHistogram().GetSampleCount())
			default:
				t.Errorf("%s is of type %v", name, f.GetType())
			}
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
	reg := prometheus.NewRegistry()
	c := s.config(t.TempDir())
	c.Registerer = reg
	m := s.start(c).ready(1)
	s.join("general", "alice", "bob")
	s.raw(events.Reads, 0, []byte("general"), []byte("\xff"))
	s.read("general", "bob", "m1") // waits
	old := postBy("general", "old", "alice")
	old.OccurredAt = timestamppb.New(time.Now().AddDate(0, 0, -160)) // past the retention of the index
	m.unread(s.produce(events.Messages, "general", old), "bob", "general")
	s.read("general", "bob", "old")
	last := s.post("general", "m0", "alice")
	m.unread(last, "bob", "general")
	s.caughtUp(m)
	until(t, "the dead letter is written", func() bool { return len(s.deadLetters()) == 1 })

	names := s.names()
	got := gathered(t, reg)
	for name, want := range map[string]float64{
		"tidemark_processor_events_total{kind=message_posted,outcome=applied,topic=" + names.Inputs[0] + "}": 2,
		"tidemark_processor_events_total{kind=read_up_to,outcome=waiting,topic=" + names.Inputs[1] + "}":     1,
		"tidemark_processor_events_total{kind=read_up_to,outcome=expired_id,topic=" + names.Inputs[1] + "}":  1,
		"tidemark_processor_dead_letters_total{code=TM103,reason=undecodable,topic=" + names.Inputs[1] + "}": 1,
		"tidemark_processor_partition_state{partition=0,state=live}":                                         1,
		"tidemark_processor_partition_state{partition=0,state=failed}":                                       0,
		"tidemark_processor_position{partition=0,topic=" + names.Inputs[0] + "}":                             3,
		"tidemark_processor_lag_records{partition=0,topic=" + names.Inputs[0] + "}":                          0,
		"tidemark_processor_waiting_pairs{partition=0}":                                                      1,
		"tidemark_processor_store_entries{partition=0,what=channels}":                                        1,
		"tidemark_processor_partitions_moved_total{how=assigned}":                                            1,
		"tidemark_processor_ready": 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, want)
		}
	}
	for name, least := range map[string]float64{
		"tidemark_processor_store_bytes{partition=0}":               1,
		"tidemark_processor_store_level_bytes{level=6,partition=0}": 0,
		"tidemark_processor_store_write_stalls_total{partition=0}":  0,
		"tidemark_processor_event_to_badge_seconds":                 1,
	} {
		if v, ok := got[name]; !ok || v < least {
			t.Errorf("%s is %v (there: %v), want %v or more", name, v, ok, least)
		}
	}
	for _, phase := range metrics.PhaseNames[:metrics.PhaseCut] {
		if got["tidemark_processor_phase_seconds{phase="+phase+"}"] == 0 {
			t.Errorf("phase %s was never timed", phase)
		}
	}
	kafka := 0
	for name := range got {
		if strings.HasPrefix(name, "tidemark_processor_kafka_") {
			kafka++
		}
	}
	if kafka == 0 {
		t.Error("the Kafka clients have no metrics")
	}

	// A second processor in the same registry gets an error. The first processor's metrics are
	// removed with it.
	second, err := New(Config{Brokers: s.brokers, Group: "other", DataDir: t.TempDir(), Topics: names, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	second.cfg.Registerer = reg
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "another processor") {
		t.Errorf("a second processor: %v", err)
	}
	m.stop()
	for name := range gathered(t, reg) {
		t.Errorf("%s is left", name)
	}
}
