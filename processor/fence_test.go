package processor

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor/internal/outputs"
)

// TestFenceRefusesAProducer: after a fence a partition refuses all records of the fenced producer,
// with any epoch, and accepts records of others. The same fence again changes nothing.
func TestFenceRefusesAProducer(t *testing.T) {
	testkit.Both(t, func(t *testing.T, env testkit.Env) {
		s := newSite(t, env.Brokers, 2)
		topic := s.names().Unread
		record := func(value string) *kgo.Record {
			return &kgo.Record{Topic: topic, Partition: 1, Key: []byte("k"), Value: []byte(value)}
		}
		manual := kgo.RecordPartitioner(kgo.ManualPartitioner())
		late := s.newClient(manual, kgo.StopProducerOnDataLossDetected())
		if err := late.ProduceSync(t.Context(), record("of the old owner")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		id, _, err := late.ProducerID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f := &outputs.Fencer{Client: s.client, Admin: kadm.NewClient(s.client)}
		for range 2 {
			if err := f.Raise(t.Context(), map[outputs.Fence]*kgo.Record{{Producer: id, Topic: topic, Partition: 1}: record("fence")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := late.ProduceSync(t.Context(), record("late")).FirstErr(); !errors.Is(err, kerr.InvalidProducerEpoch) {
			t.Errorf("a record of the old owner behind the fence: %v, want %v", err, kerr.InvalidProducerEpoch)
		}
		if err := s.client.ProduceSync(t.Context(), record("of the new owner")).FirstErr(); err != nil {
			t.Error(err)
		}
		var values []string
		for _, r := range s.records(topic) {
			values = append(values, string(r.Value))
		}
		if len(values) != 3 || values[0] != "of the old owner" || values[1] != "fence" || values[2] != "of the new owner" {
			t.Errorf("the log has %q", values)
		}
	})
}
