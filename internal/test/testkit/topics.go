package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/kafkaadmin"
)

// TopicSet is a set of Tidemark's topics under unique names.
type TopicSet struct {
	Prefix string
	Specs  []events.TopicSpec // as created, names with the prefix
}

// Name returns the name in this set of a topic of package events, such as events.TopicMessages.
func (s TopicSet) Name(topic string) string { return s.Prefix + topic }

// Topics creates all of Tidemark's topics under a prefix of the test's own, as `tidemark topics
// create` would, and deletes them after the test. The options are added to those of the client that
// does.
func Topics(t testing.TB, brokers []string, partitions int32, replication int16, opts ...kgo.Opt) TopicSet {
	t.Helper()
	prefix := UniqueName(t, "t") + "."
	set := TopicSet{Prefix: prefix, Specs: events.PrefixedTopicSpecs(prefix, partitions, replication)}
	names := make([]string, len(set.Specs))
	for i, s := range set.Specs {
		names[i] = s.Name
	}
	adm := Admin(t, brokers, opts...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := kafkaadmin.Create(ctx, adm, set.Specs); err != nil {
		t.Fatalf("topics for the test: %v", err)
	}
	t.Cleanup(func() {
		// This keeps a shared broker small. A test may leave its own brokers dead, so an error is
		// ignored.
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if _, err := adm.DeleteTopics(ctx, names...); err != nil {
			t.Logf("topics %s* are left: %v", set.Prefix, err)
		}
	})
	return set
}

// Topics calls Topics on the environment's Kafka, with one replica.
func (e Env) Topics(t testing.TB, partitions int32) TopicSet {
	t.Helper()
	return Topics(t, e.Brokers, partitions, 1)
}
