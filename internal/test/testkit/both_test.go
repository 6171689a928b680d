package testkit

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

func TestBothRunsOnTheEmbeddedAndTheRealServers(t *testing.T) {
	var real []bool
	Both(t, func(t *testing.T, env Env) {
		real = append(real, env.Real)
		ctx := testContext(t)

		set := env.Topics(t, 2)
		details, err := Admin(t, env.Brokers).ListTopics(kadm.WithAuthorizedOps(ctx))
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range events.TopicSpecs(2, 1) {
			if got := len(details[set.Name(spec.Name)].Partitions); got != 2 {
				t.Errorf("topic %s has %d partitions", set.Name(spec.Name), got)
			}
		}
		topic := set.Name(events.TopicMessages)
		produce(ctx, t, Client(t, env.Brokers, kgo.RecordPartitioner(kgo.ManualPartitioner())), topic, 0, 100)
		wantRecords(ctx, t, env.Brokers, topic, 100)

		if err := redisClient(t, env.RedisURL).Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Error(err)
		}
	})
	want := []bool{false, true}
	if testing.Short() {
		want = want[:1]
	}
	if !slices.Equal(real, want) {
		t.Errorf("ran on real servers: %v, want %v", real, want)
	}
}

func TestTopicsAreDeletedAfterTheTest(t *testing.T) {
	brokers := FakeKafka(t).ListenAddrs()
	var set TopicSet
	t.Run("test", func(t *testing.T) { set = Topics(t, brokers, 1, 1) })
	details, err := Admin(t, brokers).ListTopics(kadm.WithAuthorizedOps(testContext(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(details) > 0 {
		t.Errorf("left behind: %v", details.Names())
	}
	if len(set.Specs) != len(events.TopicSpecs(1, 1)) {
		t.Errorf("%d topics were made", len(set.Specs))
	}
}

func TestUniqueNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		name := UniqueName(t, "g")
		if seen[name] {
			t.Fatalf("%s twice", name)
		}
		seen[name] = true
	}
}
