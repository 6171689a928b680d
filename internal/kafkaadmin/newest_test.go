package kafkaadmin_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/internal/kafkaadmin"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// Newest names the last record of each partition that has one.
func TestNewest(t *testing.T) {
	brokers := testkit.FakeKafka(t).ListenAddrs()
	topic := testkit.Topics(t, brokers, 3, 1).Name("chat.messages")
	adm := testkit.Admin(t, brokers)
	if tokens, partitions, err := kafkaadmin.Newest(t.Context(), adm, topic); err != nil || len(tokens) != 0 || partitions[topic] != 3 {
		t.Errorf("empty: %v, %v, %v", tokens, partitions, err)
	}
	cl := testkit.Client(t, brokers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, p := range []int32{1, 1, 2} {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: p, Value: []byte("x")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	tokens, _, err := kafkaadmin.Newest(t.Context(), adm, topic)
	slices.Sort(tokens)
	if err != nil || !slices.Equal(tokens, []string{topic + "/1/1", topic + "/2/0"}) {
		t.Errorf("%v, %v", tokens, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := kafkaadmin.Newest(ended, adm, topic); err == nil || !strings.Contains(err.Error(), "start offsets of the topics") {
		t.Errorf("without an answer: %v", err)
	}
}
