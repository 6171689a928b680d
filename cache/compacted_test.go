package cache

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestFilledFromWhatKafkaKeeps: Apache Kafka compacts the output topics as soon as it can, and a
// Redis is filled from the remaining records.
func TestFilledFromWhatKafkaKeeps(t *testing.T) {
	testkit.NeedsServer(t)
	brokers := testkit.Kafka(t).Brokers
	topics := testkit.Topics(t, brokers, 1, 1)
	outputs := []string{topics.Name(events.TopicUnread), topics.Name(events.TopicChannels)}
	compactAtOnce(t, brokers, outputs)
	h, rng, cl := newHistory(), seeded(t), producer(t, brokers)
	began := time.Now().Add(-time.Minute)
	for i := range 20 { // each round ends a segment: rounds are further apart than segment.ms
		records := h.grow(rng, 100, 3, 4)
		for _, r := range records {
			r.Timestamp = began.Add(time.Duration(i) * 2 * time.Second)
		}
		produce(t, cl, topics, 1, records...)
	}
	kept := 0
	testkit.Await(t, "Kafka has compacted the outputs", func() bool {
		kept = 0
		for _, topic := range outputs {
			kept += recordsIn(t, brokers, topic)
		}
		return kept < len(h.records)/2
	})
	t.Logf("Kafka keeps %d of %d records", kept, len(h.records))
	rdb := redisClient(t, "redis://"+testkit.Miniredis(t).Addr())
	start(t, brokers, topics, rdb).ready(t)
	h.check(t, rdb)
}

// compactAtOnce makes Kafka compact each segment of the topics a moment after its end.
func compactAtOnce(t *testing.T, brokers, topics []string) {
	t.Helper()
	admin := testkit.Admin(t, brokers)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := func(name, value string) kadm.AlterConfig { return kadm.AlterConfig{Name: name, Value: &value} }
	if _, err := admin.AlterBrokerConfigs(ctx, []kadm.AlterConfig{set("log.cleaner.backoff.ms", "100")}); err != nil {
		t.Fatal(err)
	}
	answers, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{
		set("segment.ms", "1000"), set("min.cleanable.dirty.ratio", "0.001"), set("min.compaction.lag.ms", "0"),
	}, topics...)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answers {
		if a.Err != nil {
			t.Fatalf("%s: %v %s", a.Name, a.Err, a.ErrMessage)
		}
	}
}

// recordsIn returns the number of records of a topic with one partition.
func recordsIn(t *testing.T, brokers []string, topic string) (n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ends, err := testkit.Admin(t, brokers).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	end, _ := ends.Lookup(topic, 0)
	cl := testkit.Client(t, brokers, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(0)}}))
	defer cl.Close()
	for next := int64(0); next < end.Offset; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { n, next = n+1, r.Offset+1 })
	}
	return n
}
